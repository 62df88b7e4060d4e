// What the page shows, and what it does. `index.html` has its parts; the other files come before this one.

// The checkpoints of `debug` have the values; LangGraph.js 1.4 breaks runs that stream both with those of subgraphs.
const MODES = ["messages-tuple", "debug"];
const THREADS = 50;
const MESSAGES = 100;
/** Bytes of history that are asked for at once: each step has the whole state. */
const HISTORY = 8 << 20;
const SETTLED = /^(success|error|timeout|interrupted)$/;

const page = {
  assistants: [],
  assistant: null,
  schema: {},
  takesMessages: false,
  form: null,
  shapes: new Map(),
  threads: [],
  thread: null,
  /** The latest state of the thread, and the earlier one that is shown instead. */
  latest: null,
  from: null,
  values: {},
  history: [],
  shownMessages: MESSAGES,
  /** Messages that are not in the state yet, by their IDs. */
  live: new Map(),
  /** The run that is followed: `{id, thread, abort, nodes, failure}`. */
  run: null,
  isLost: false,
  /** Whether the input is known. */
  isReady: false,
};

const announce = (text) => ($("announcer").textContent = text);
const idOf = (state) => state?.checkpoint?.checkpoint_id ?? state?.checkpoint_id;
const parentOf = (state) => state?.parent_checkpoint?.checkpoint_id ?? state?.parent_config?.configurable?.checkpoint_id;

/** Does something that may fail, and shows the failure where the input is. */
async function attempt(action) {
  $("input-error").textContent = "";
  try {
    return await action();
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    if (error instanceof Failure && error.status === 0 && /does not answer/.test(error.message)) lost();
    else if (error.status === 401 || error.status === 403) $("input-error").textContent = `${error.message} Set what the server asks for with “Headers”.`;
    else $("input-error").textContent = error.message;
    return undefined;
  }
}

async function lost() {
  if (page.isLost) return;
  page.isLost = true;
  $("connection").textContent = "The server does not answer. Waiting for it…";
  for (let isBack = false; !isBack; ) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    isBack = await send("GET", "/ok").then(() => true, (error) => error.status > 0);
  }
  page.isLost = false;
  $("connection").textContent = "";
  announce("The server answers again.");
  await start();
}

// Assistants.

async function start() {
  await attempt(async () => {
    page.assistants = await ask("POST", "/assistants/search", { limit: 100 });
    page.assistants.sort((a, b) => a.graph_id.localeCompare(b.graph_id) || a.name.localeCompare(b.name));
    const named = ({ name, graph_id: graph, assistant_id: id }) => (!name || name === "Untitled" || name === graph ? (sameGraph(graph) > 1 ? `${graph} (${id.slice(0, 8)})` : graph) : `${name} (${graph})`);
    const sameGraph = (graph) => page.assistants.filter((it) => it.graph_id === graph).length;
    $("assistant").replaceChildren(...page.assistants.map((it) => new Option(named(it), it.assistant_id)));
    const { assistant, thread } = wanted();
    await choose(page.assistants.find((it) => [it.assistant_id, it.graph_id].includes(assistant)) ?? page.assistants[0]);
    if (thread) await openThread(thread);
  });
  await listThreads();
}

const wanted = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

function remember() {
  const parts = { assistant: page.assistant?.assistant_id, thread: page.thread };
  history.replaceState(null, "", `#${new URLSearchParams(Object.entries(parts).filter(([, value]) => value))}`);
}

async function choose(assistant) {
  if (!assistant) return ($("picture").textContent = "The server has no graphs.");
  if (assistant === page.assistant) return undefined;
  page.assistant = assistant;
  $("assistant").value = assistant.assistant_id;
  document.title = `${assistant.graph_id} · agentcli`;
  remember();
  const own = path("assistants", assistant.assistant_id);
  // A server that compiles the sources for the schemas takes seconds for them.
  $("fields").replaceChildren(element("p", { className: "quiet", textContent: "Reading the schema of the input…" }));
  $("mode-label").hidden = true;
  page.isReady = false;
  progress();
  // Its compiler is given up after half a minute, and is quicker the next time.
  const readSchemas = (left) => ask("GET", `${own}/schemas`).catch((error) => (error.status === 500 && left ? readSchemas(left - 1) : Promise.reject(error)));
  const schemasOf = readSchemas(1).catch(passing({}));
  const simpler = (error) => (error.status ? ask("GET", `${own}/graph`).catch(passing({})) : passing({})(error));
  const graph = await ask("GET", `${own}/graph?xray=true`).catch(simpler);
  if (assistant !== page.assistant) return undefined;
  page.shapes = draw($("picture"), graph);
  const schemas = await schemasOf;
  if (assistant !== page.assistant) return undefined;
  page.isReady = true;
  progress();
  const schema = schemas.input_schema?.properties ? schemas.input_schema : schemas.state_schema?.properties ? schemas.state_schema : {};
  page.schema = schema;
  page.takesMessages = Boolean(schema.properties?.messages);
  const modes = [page.takesMessages && "Message", schema.properties && "Form", "JSON"].filter(Boolean);
  $("mode").replaceChildren(...modes.map((mode) => new Option(mode)));
  showInput();
  return undefined;
}

/** What a server that cannot tell answers; one that does not answer is a failure. */
const passing = (value) => (error) => {
  if (!error.status || error.status === 401 || error.status === 403) throw error;
  return value;
};

function showInput() {
  const mode = $("mode").value;
  page.form = null;
  $("mode-label").hidden = $("mode").length < 2;
  if (mode === "Form") page.form = new SchemaForm($("fields"), page.schema);
  else {
    const isJson = mode === "JSON";
    const properties = { id: "text", rows: isJson ? 4 : 2, className: isJson ? "code" : "", spellcheck: !isJson };
    const label = isJson ? "Input in JSON" : "Message";
    const text = element("textarea", { ...properties, placeholder: isJson ? "{ }" : "Enter sends, Shift+Enter begins a new line" });
    text.setAttribute("aria-label", label);
    $("fields").replaceChildren(text);
  }
  $("send").textContent = mode === "Message" ? "Send" : "Run";
}

function input() {
  if (page.form) return page.form.value();
  const text = $("text").value;
  if ($("mode").value === "JSON") return text.trim() ? parsed(text, "The input") : {};
  if (!text.trim()) throw new Failure("Write a message first.");
  return { messages: [{ type: "human", content: text, id: crypto.randomUUID?.() }] };
}

// Threads.

async function listThreads(offset = 0) {
  await attempt(async () => {
    const body = { limit: THREADS, offset, sort_by: "updated_at", sort_order: "desc" };
    const select = ["thread_id", "status", "updated_at", "metadata"];
    // Older servers cannot leave out the states.
    const refused = (error) => (error.status === 422 || error.status === 400 ? ask("POST", "/threads/search", body) : Promise.reject(error));
    const found = await ask("POST", "/threads/search", { ...body, select }).catch(refused);
    const known = offset ? page.threads.filter(({ thread_id: id }) => !found.some((it) => it.thread_id === id)) : [];
    page.threads = [...known, ...found];
    $("threads-more").hidden = found.length < THREADS;
    showThreads();
  });
}

function showThreads() {
  const focused = document.activeElement?.dataset.thread;
  $("threads-none").hidden = page.threads.length > 0;
  $("threads").replaceChildren(...page.threads.map(({ thread_id: id, status, updated_at: time, metadata }) => {
    const name = metadata?.title || `${metadata?.graph_id ?? "thread"} ${id.slice(0, 8)}`;
    const state = status && status !== "idle" ? element("span", { className: `status ${status}`, textContent: ` · ${status}` }) : null;
    const node = element("button", { type: "button", title: id, onclick: () => attempt(() => openThread(id)) });
    node.append(element("span", { className: "name", textContent: name }), element("span", { className: "quiet" }, moment(time), state ?? ""));
    node.dataset.thread = id;
    if (id === page.thread) node.setAttribute("aria-current", "true");
    return element("li", {}, node);
  }));
  if (focused) $("threads").querySelector(`[data-thread="${CSS.escape(focused)}"]`)?.focus();
}

function forget(thread) {
  page.run?.abort.abort();
  Object.assign(page, { thread, latest: null, from: null, values: {}, history: [], run: null, shownMessages: MESSAGES });
  page.live.clear();
  $("live").replaceChildren();
  $("outcome").replaceChildren();
  $("input-error").textContent = "";
  mark();
  remember();
  showThreads();
  showSteps();
  showFrom();
  render();
}

async function openThread(id) {
  forget(id);
  show("chat");
  const thread = await ask("GET", path("threads", id));
  const own = page.assistants.find((it) => it.assistant_id === thread.metadata?.assistant_id) ?? page.assistants.find((it) => it.graph_id === thread.metadata?.graph_id);
  if (own) await choose(own);
  if (id !== page.thread) return;
  await refresh();
  if (thread.status !== "busy" || id !== page.thread) return;
  const runs = await ask("GET", `${path("threads", id, "runs")}?limit=20`);
  const running = runs.find(({ status }) => !SETTLED.test(status));
  if (running && id === page.thread) await follow(id, running.run_id, (signal) => events("GET", path("threads", id, "runs", running.run_id, "stream"), { signal }));
}

/** Reads the latest state and the first steps of the thread. */
async function refresh() {
  const id = page.thread;
  const response = await send("GET", path("threads", id, "state"));
  const text = await response.text();
  if (id !== page.thread) return;
  page.latest = JSON.parse(text);
  page.live.clear();
  if (!page.run) $("live").replaceChildren();
  page.size = text.length;
  await readSteps();
  if (id !== page.thread) return;
  if (!page.from) page.values = page.latest.values ?? {};
  showOutcome();
  render();
}

// Steps.

async function readSteps(before) {
  const id = page.thread;
  const limit = Math.min(20, Math.max(2, Math.floor(HISTORY / Math.max(page.size ?? 1, 1))));
  const found = await ask("POST", path("threads", id, "history"), { limit, ...(before && { before: { configurable: { checkpoint_id: before, checkpoint_ns: "" } } }) });
  if (id !== page.thread) return;
  page.history = before ? [...page.history, ...found] : found;
  $("steps-more").hidden = found.length < limit;
  showSteps();
}

/** The parts of a state that differ from those of the one before. */
function changes(values, before) {
  if (!values || typeof values !== "object") return { value: values };
  const changed = Object.entries(values).filter(([name, value]) => before?.[name] !== value && JSON.stringify(before?.[name]) !== JSON.stringify(value));
  return Object.fromEntries(changed.map(([name, value]) => {
    const old = before?.[name];
    const isLonger = Array.isArray(value) && Array.isArray(old) && value.length > old.length && JSON.stringify(value.slice(0, old.length)) === JSON.stringify(old);
    return isLonger ? [`${name} +${value.length - old.length}`, value.slice(old.length)] : [name, value];
  }));
}

function showSteps() {
  $("steps-none").hidden = page.history.length > 0 || $("live").children.length > 0;
  if (!page.history.length) $("steps-more").hidden = true;
  const known = new Map(page.history.map((state) => [idOf(state), state]));
  // What is shown of a step, and opened, stays as it is unless the step has changed.
  const shown = new Map([...$("steps").children].map((item) => [item.key, item]));
  const opened = new Set([...$("steps").querySelectorAll(":scope > li > details[open]")].map(({ parentElement }) => parentElement.dataset.step));
  $("steps").replaceChildren(...page.history.map((state) => {
    const before = known.get(parentOf(state));
    const key = JSON.stringify([idOf(state), idOf(before), state.next, state.tasks]);
    if (shown.has(key)) return shown.get(key);
    const source = state.metadata?.source;
    const names = source === "input" || source === "update" || source === "fork" ? source : [...new Set(before?.next ?? [])].map(labelOf).join(", ") || "step";
    const changed = changes(state.values, before?.values);
    const keys = Object.keys(changed);
    const errors = (state.tasks ?? []).filter(({ error }) => error);
    const summary = element("summary", {}, `${state.metadata?.step ?? ""} ${names} `, element("span", { className: "quiet", textContent: `${state.created_at ? clock(state.created_at) : ""} ${keys.join(", ").slice(0, 100)}` }));
    if (errors.length) summary.append(element("span", { className: "error", textContent: ` ${errors.map(({ name }) => `${name} failed`).join(", ")}` }));
    const details = element("details", {}, summary);
    details.ontoggle = () => {
      if (!details.open || details.children.length > 1) return;
      const isRest = state.next?.length;
      details.append(element("div", { className: "inside" },
        keys.length ? tree(changed, before ? "changed" : "state", true) : element("p", { className: "quiet", textContent: "Nothing changed." }),
        before && tree(state.values, "state"),
        ...errors.map(({ name, error }) => element("p", { className: "error text", textContent: `${name}: ${errorText(error)}` })),
        isRest ? element("p", { className: "quiet", textContent: `next: ${state.next.join(", ")}` }) : null,
        element("p", { className: "bar" }, button("Go back to here", () => goBack(state)), isRest ? button("Run on from here", () => (goBack(state), attempt(() => run({ input: null })))) : null)));
    };
    details.open = opened.has(idOf(state));
    const item = element("li", { key }, details);
    item.dataset.step = idOf(state);
    return item;
  }));
  markStep();
}

/** Marks the step that the page is back at. */
function markStep() {
  for (const item of $("steps").children) item.ariaCurrent = item.dataset.step === idOf(page.from) ? "step" : null;
}

function goBack(state) {
  page.from = idOf(state) === idOf(page.latest) ? null : state;
  page.values = state.values ?? {};
  show("chat");
  showFrom();
  markStep();
  showOutcome();
  render();
  announce(page.from ? `Back at step ${state.metadata?.step}` : "At the latest step");
}

function showFrom() {
  $("from").hidden = !page.from;
  if (page.from) $("from-text").textContent = `Back at step ${page.from.metadata?.step}. A run goes on from there; what came after stays in the history.`;
}

// Runs.

async function run(what, title) {
  if (page.run) return;
  const isNew = !page.thread;
  if (isNew) {
    const metadata = { graph_id: page.assistant.graph_id, ...(title && { title: title.slice(0, 80) }) };
    page.thread = (await ask("POST", "/threads", { metadata })).thread_id;
    remember();
  }
  const body = { assistant_id: page.assistant.assistant_id, ...what, stream_mode: MODES, stream_subgraphs: true, on_disconnect: "continue" };
  if (page.from) body.checkpoint_id = idOf(page.from);
  const thread = page.thread;
  await follow(thread, null, (signal) => events("POST", path("threads", thread, "runs", "stream"), { body, signal }));
}

/** Follows a run to its end; one that goes on without this page is found again when its thread is opened. */
async function follow(thread, id, open) {
  const run = { id, thread, abort: new AbortController(), nodes: new Map(), failure: null, since: Date.now() };
  page.run = run;
  $("live").replaceChildren();
  $("outcome").replaceChildren();
  mark();
  announce("The run has started.");
  progress();
  const timer = setInterval(progress, 250);
  let broken;
  try {
    for await (const { event, data } of open(run.abort.signal)) {
      if (page.run !== run) return;
      take(run, event, data);
    }
  } catch (error) {
    broken = error;
  } finally {
    clearInterval(timer);
    if (page.run === run) page.run = null;
    progress();
  }
  if (page.thread !== thread || broken?.name === "AbortError") return;
  page.from = null;
  showFrom();
  page.failure = run.failure && { ...run.failure, node: run.failure.node ?? [...run.nodes.values()].find(({ error }) => error)?.name };
  await attempt(async () => {
    if (broken && !(broken instanceof Failure)) throw new Failure("The server does not answer.");
    if (broken) throw broken;
    await refresh();
    announce(page.failure ? `The run failed: ${errorText(page.failure)}` : "The run has ended.");
  });
  page.failure = null;
  await listThreads();
}

function take(run, name, data) {
  const [event, ...spaces] = name.split("|");
  const groups = spaces.map((space) => space.split(":")[0]);
  if (event === "metadata") run.id = data.run_id;
  else if (event === "error") run.failure = typeof data === "object" ? data : { message: String(data) };
  else if (event === "debug" && data?.type === "checkpoint" && !spaces.length && data.payload.metadata?.source !== "input") {
    page.values = data.payload.values;
    page.live.delete("sent");
    for (const { id } of page.values?.messages ?? []) page.live.delete(id);
    $("outcome").replaceChildren(...stateCard());
  } else if (event === "messages") token(data);
  else if (event === "debug" && data?.type === "task") nodeStarts(run, groups, data);
  else if (event === "debug" && data?.type === "task_result") nodeEnds(run, data);
  render();
}

function token([message, metadata] = []) {
  if (!message?.id || !/^(ai|tool)/i.test(message.type)) return;
  const known = page.live.get(message.id);
  // LangGraph.js has no name of its own for the type of a part.
  const isPart = /Chunk$/.test(message.type) || message.tool_call_chunks !== undefined;
  const content = isPart && known ? known.content + textOf(message) : textOf(message);
  page.live.set(message.id, { ...message, content, node: metadata?.langgraph_node, tool_calls: isPart ? known?.tool_calls : message.tool_calls });
}

function nodeStarts(run, groups, { payload }) {
  const place = [...groups, payload.name].join(":");
  run.nodes.set(payload.id, { name: payload.name, place, since: Date.now() });
  mark(place, "runs");
  const item = element("li", {}, `${groups.length ? `${groups.join(" › ")} › ` : ""}${payload.name} `, element("span", { className: "quiet", textContent: "runs" }));
  item.dataset.task = payload.id;
  $("live").append(item);
  while ($("live").children.length > 200) $("live").firstChild.remove();
  $("steps-none").hidden = true;
}

function nodeEnds(run, { payload }) {
  const node = run.nodes.get(payload.id);
  if (!node) return;
  const isWaiting = payload.interrupts?.length > 0;
  node.error = payload.error;
  node.isDone = true;
  const others = [...run.nodes.values()].some((it) => it.place === node.place && !it.isDone);
  if (!others) mark(node.place, node.error ? "broke" : isWaiting ? "waits" : "ran");
  const changed = Array.isArray(payload.result) ? payload.result.map(([key]) => key) : Object.keys(payload.result ?? {});
  const text = node.error ? errorText(node.error) : isWaiting ? "waits for an answer" : `${Date.now() - node.since} ms ${changed.join(", ")}`;
  const item = [...$("live").children].findLast((it) => it.dataset.task === payload.id);
  item?.lastChild.replaceWith(element("span", { className: node.error ? "error" : "quiet", textContent: text.slice(0, 300) }));
}

/** Marks a node of the picture: `runs`, `ran`, `waits` or `broke`; without a place, unmarks all. */
function mark(place, state) {
  if (!place) return page.shapes.forEach((shape) => shape.classList.remove("runs", "ran", "waits", "broke"));
  // Servers that cannot look into a subgraph have only the node that it is.
  const shape = page.shapes.get(place) ?? page.shapes.get(place.split(":")[0]);
  shape?.classList.remove("runs", "ran", "waits", "broke");
  return shape?.classList.add(state);
}

function progress() {
  const { run } = page;
  const nodes = run ? [...new Set([...run.nodes.values()].filter(({ isDone }) => !isDone).map(({ name }) => name))] : [];
  $("stop").hidden = !run;
  $("send").disabled = Boolean(run) || !page.isReady;
  $("progress").textContent = run ? `${nodes.join(", ") || "running"} · ${((Date.now() - run.since) / 1000).toFixed(1)} s` : "";
}

async function stop() {
  const { run } = page;
  if (!run?.id) return run?.abort.abort();
  return ask("POST", `${path("threads", run.thread, "runs", run.id, "cancel")}?wait=false&action=interrupt`, {}).catch((error) => {
    // It has ended meanwhile, or the answer is empty.
    if (error instanceof Failure && error.status !== 404 && error.status !== 409) throw error;
  });
}

// Outcomes.

function card(className, title, ...parts) {
  const node = element("section", { className: `card ${className}` }, element("h3", { textContent: title }), ...parts);
  return node;
}

function showOutcome() {
  const state = page.from ?? page.latest;
  const tasks = state?.tasks ?? [];
  const cards = [];
  const failed = tasks.find(({ error }) => error);
  const failure = page.from ? null : page.failure;
  if (failure || failed) {
    const node = failure?.node ?? failed?.name;
    const retry = failed && !page.from ? element("p", {}, button("Try again", () => attempt(() => run({ input: null })))) : null;
    const text = failure && !(failed && /^An internal error occurred$/.test(failure.message)) ? failure : failed.error;
    const isStopped = /^(CancelledError|AbortError)/.test(errorText(text));
    if (isStopped) cards.push(card("waiting", `Stopped${node ? ` in ${node}` : ""}`, retry));
    else cards.push(card("failed", node ? `${node} failed` : "The run failed", element("p", { className: "text", textContent: errorText(text) }), failure?.place ? element("p", {}, element("code", { textContent: failure.place })) : null, retry));
  }
  const waiting = tasks.flatMap(({ name, interrupts }) => (interrupts ?? []).map((it) => ({ name, ...it })));
  if (waiting.length) cards.push(question(waiting));
  else if (state?.next?.length && !failed && !failure && !page.from) {
    cards.push(card("waiting", `Paused before ${state.next.join(", ")}`, element("p", {}, button("Go on", () => attempt(() => run({ input: null })), "primary"))));
  }
  $("outcome").replaceChildren(...stateCard(), ...cards);
  for (const { name, error, interrupts } of tasks) if (error || interrupts?.length) mark(name, error ? "broke" : "waits");
  $("answer")?.focus();
}

/** The state but for its messages, if there is more. */
function stateCard() {
  const { values, from, size = 0 } = page;
  if (values !== null && typeof values !== "object") return values === undefined ? [] : [card("", "Result", tree(values))];
  const isChat = Array.isArray(values?.messages);
  const own = Object.entries(values ?? {}).filter(([name]) => name !== "__interrupt__" && !(isChat && name === "messages"));
  const parts = own.slice(0, 50).map(([name, value]) => tree(value, name, !isChat && size < 20_000));
  return parts.length ? [card("", from ? `State at step ${from.metadata?.step}` : "State", ...parts)] : [];
}

/** The card that answers interrupts; answers are JSON, or else text. */
function question(waiting) {
  const form = element("form", { autocomplete: "off" });
  const answer = (values) => attempt(() => run({ command: { resume: waiting.length === 1 ? values[0] : Object.fromEntries(waiting.map(({ id }, at) => [id, values[at]])) } }));
  const fields = waiting.map(({ value, name }, at) => {
    const field = element("textarea", { rows: 1, id: at ? `answer-${at}` : "answer" });
    const label = waiting.length > 1 ? `Answer to ${name} (text or JSON)` : "Answer (text or JSON)";
    form.append(tree(value, undefined, true), element("label", { htmlFor: field.id, textContent: label }), field);
    field.addEventListener("keydown", sendOnEnter);
    return field;
  });
  const bar = element("div", { className: "bar" });
  // The shape of LangChain's middleware for reviews by people.
  const actions = waiting.length === 1 && Array.isArray(waiting[0].value?.action_requests) ? waiting[0].value.action_requests : [];
  const all = (type) => () => answer([{ decisions: actions.map(() => ({ type })) }]);
  if (actions.length) bar.append(button("Approve", all("approve")), button("Reject", all("reject"), "danger"));
  bar.append(element("button", { type: "submit", className: "primary", textContent: "Answer" }));
  form.append(bar);
  form.onsubmit = (event) => {
    event.preventDefault();
    answer(fields.map(({ value }) => jsonOrText(value)));
  };
  return card("waiting", `${[...new Set(waiting.map(({ name }) => name))].join(", ")} asks`, form);
}

// Messages.

let isDue = false;
function render() {
  if (isDue) return;
  isDue = true;
  setTimeout(() => {
    isDue = false;
    showMessages();
  }, 30);
}

function showMessages() {
  const box = $("transcript");
  const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  const all = [...(Array.isArray(page.values?.messages) ? page.values.messages : []), ...page.live.values()].filter((it) => it && typeof it === "object");
  const shown = all.slice(-page.shownMessages);
  $("earlier").hidden = shown.length === all.length;
  const list = $("messages");
  shown.forEach((message, at) => {
    const mark = JSON.stringify([message.id, roleOf(message), message.content, message.tool_calls, message.node]);
    const node = list.children[at];
    if (node?.mark === mark) return;
    const view = messageView(message);
    view.mark = mark;
    if (node) node.replaceWith(view);
    else list.append(view);
  });
  while (list.children.length > shown.length) list.lastChild.remove();
  if (isAtEnd) box.scrollTop = box.scrollHeight;
}

// Events of the page.

function show(part) {
  document.body.dataset.view = part;
  for (const node of document.querySelectorAll("[data-show]")) node.setAttribute("aria-pressed", node.dataset.show === part);
}

function sendOnEnter(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.currentTarget.form.requestSubmit();
}

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  if (page.run || !page.isReady) return;
  attempt(async () => {
    const value = input();
    const text = $("mode").value === "Message" ? $("text").value : "";
    if (text) {
      page.live.set("sent", value.messages[0]);
      $("text").value = "";
      render();
    }
    await run({ input: value }, text || Object.values(value).find((it) => typeof it === "string") || "");
  });
});
$("fields").addEventListener("keydown", (event) => {
  if (event.target.id === "text" && $("mode").value === "Message") sendOnEnter({ ...pick(event), currentTarget: event.target });
  else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("composer").requestSubmit();
});
const pick = (event) => ({ key: event.key, shiftKey: event.shiftKey, isComposing: event.isComposing, preventDefault: () => event.preventDefault() });
$("mode").onchange = showInput;
$("assistant").onchange = () => attempt(async () => {
  forget(null);
  await choose(page.assistants.find((it) => it.assistant_id === $("assistant").value));
});
$("new").onclick = () => {
  forget(null);
  show("chat");
  ($("text") ?? $("fields").querySelector("input, textarea, select"))?.focus();
};
$("threads-more").onclick = () => listThreads(page.threads.length);
$("steps-more").onclick = () => attempt(() => readSteps(idOf(page.history.at(-1))));
$("from-cancel").onclick = () => goBack(page.latest);
$("stop").onclick = () => attempt(stop);
$("earlier").onclick = () => {
  page.shownMessages += MESSAGES;
  showMessages();
};
for (const node of document.querySelectorAll("[data-show]")) node.onclick = () => show(node.dataset.show);
$("headers-open").onclick = () => {
  $("headers-text").value = headersText();
  $("headers-error").textContent = "";
  $("headers").showModal();
};
$("headers-cancel").onclick = () => $("headers").close();
$("headers-form").addEventListener("submit", (event) => {
  event.preventDefault();
  try {
    readHeaders($("headers-text").value);
  } catch (error) {
    $("headers-error").textContent = error.message;
    return;
  }
  sessionStorage.setItem(HEADERS, $("headers-text").value);
  $("headers").close();
  page.assistant = null;
  start();
});
window.addEventListener("hashchange", () => {
  const { thread } = wanted();
  if (thread && thread !== page.thread) attempt(() => openThread(thread));
});

show("chat");
start();
