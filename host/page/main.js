// The views, the routes between them, and the actions. A route is in the fragment of the address:
// #/, #/deployments/ID and #/deployments/ID/revisions/ID. The key is not.

import { $, ago, between, describe, element, external, isFinal, keyed, setStatus, setText, words } from "./dom.js";
import { Failure, Poll, call, page, removeKey, storeKey, storedKey } from "./api.js";
import * as log from "./log.js";

const BATCH = 50;
/** Revisions that have ended, by ID: they do not change. */
const ended = new Map();
/** The last known status of deployments, by ID, to announce changes. */
const announced = new Map();
let route, shown, count, isEntered, act;

const poll = new Poll((signal) => (route.id ? refreshDetail(signal) : refreshList(signal)), failed);

function show(view) {
  for (const section of $("main").querySelectorAll(":scope > section")) section.hidden = section.id !== view;
}

/** Moves the focus to the heading of a view that was just entered. */
function enter(heading) {
  if (!isEntered) heading.focus();
  isEntered = true;
}

function go() {
  if (!storedKey()) return signIn();
  $("sign-out").hidden = false;
  const [, , id, , revision] = location.hash.split("/");
  const isSame = route && id === route.id;
  route = { id, revision, path: `/v2/deployments/${encodeURIComponent(id)}` };
  if (!isSame) {
    isEntered = false;
    count = BATCH;
    shown = null;
  }
  poll.restart();
}

// Signing in and out

function signIn() {
  show("sign-in");
  document.title = "Sign in – agentcli host";
  if (storedKey() === "") setText($("key-error"), "The service does not accept the key any more.");
  removeKey();
  $("key").focus();
}

$("sign-in").querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const key = $("key").value.trim();
  setText($("key-error"), "");
  try {
    await call("GET", "/v2/deployments?limit=1", null, key);
    storeKey(key);
    $("key").value = "";
    go();
  } catch (failure) {
    setText($("key-error"), failure.status === 401 ? "The service does not accept this key." : failure.message);
    $("key").select();
  }
});

/** Nothing that was shown stays in memory. */
function signOut() {
  poll.stop();
  removeKey();
  history.replaceState(null, "", "/");
  location.reload();
}

function failed(failure, pause) {
  if (failure?.status === 401) {
    storeKey("");
    location.reload();
    return false;
  }
  if (failure?.status === 404 && route.id) {
    show("missing");
    failure = null;
  }
  const text = failure && (failure.status ? failure.message : "Connection lost.");
  setText($("connection"), failure ? `${text} Retrying in ${pause / 1000} s.` : "");
  $("retry").hidden = !failure;
  return true;
}

/** Tells screen readers, and once only, that a deployment has another status. */
function announce({ id, name }, status) {
  if (announced.has(id) && announced.get(id) !== status) setText($("announcer"), `${name}: ${words(status)}`);
  announced.set(id, status);
}

// The list

async function refreshList(signal) {
  const filter = $("search").value.trim().toLowerCase();
  const query = filter ? `?name_contains=${encodeURIComponent(filter)}` : "";
  const { resources, hasMore } = await page(`/v2/deployments${query}`, count, signal);
  const rows = await Promise.all(resources.map(async (deployment) => ({
    deployment,
    latest: await revision(deployment.id, deployment.latest_revision_id, signal),
    active: await revision(deployment.id, deployment.active_revision_id, signal),
  })));
  keyed($("deployments").tBodies[0], rows, ({ deployment }) => deployment.id, newRow, updateRow);
  $("deployments").hidden = !rows.length;
  $("more").hidden = !hasMore;
  $("none").hidden = rows.length > 0;
  $("none").replaceChildren(...(filter ? ["No deployment has this in its name."]
    : ["There are no deployments. Create one with ", element("code", { textContent: "agentcli deploy" }), "."]));
  document.title = "Deployments – agentcli host";
  show("list");
  enter($("list-title"));
}

/** A revision; null if there is none, or none any more. */
async function revision(deployment, id, signal) {
  if (!id || ended.has(id)) return ended.get(id) ?? null;
  try {
    const found = await call("GET", `/v2/deployments/${deployment}/revisions/${encodeURIComponent(id)}`, signal);
    if (isFinal(found.status)) ended.set(id, found);
    return found;
  } catch (failure) {
    if (failure.status === 404) return null;
    throw failure;
  }
}

const number = (revision) => (revision ? `#${revision.number}` : "–");

function newRow({ deployment }) {
  const link = element("a", { href: `#/deployments/${deployment.id}`, textContent: deployment.name });
  link.dataset.row = "";
  const cells = Array.from({ length: 5 }, () => element("td"));
  cells[0].append(element("span"));
  return element("tr", {}, element("th", { scope: "row" }, link), ...cells);
}

function updateRow(row, { deployment, latest, active }) {
  const [, status, serves, source, url, updated] = row.cells;
  setStatus(status.firstChild, latest?.status ?? "");
  if (latest) announce(deployment, latest.status);
  setText(serves, number(active));
  setText(source, deployment.source);
  const { custom_url } = deployment.source_config;
  if (url.textContent !== external(custom_url ?? "").textContent) url.replaceChildren(external(custom_url ?? ""));
  const time = ago(latest?.updated_at ?? deployment.updated_at);
  if (!updated.firstChild?.isEqualNode(time)) updated.replaceChildren(time);
}

// A deployment

async function refreshDetail(signal) {
  const [deployment, { resources, hasMore }] = await Promise.all([
    call("GET", route.path, signal),
    page(`${route.path}/revisions`, count, signal),
  ]);
  const wanted = route.revision ?? resources[0]?.id;
  const selected = resources.find(({ id }) => id === wanted) ?? (await revision(deployment.id, wanted, signal));
  if (wanted && !selected) throw new Failure(404, "");
  const active = resources.find(({ id }) => id === deployment.active_revision_id)
    ?? (await revision(deployment.id, deployment.active_revision_id, signal));
  shown = { deployment, selected, active };
  showDeployment(deployment, resources[0], active);
  keyed($("revisions"), resources, ({ id }) => id, newRevision, updateRevision);
  $("older").hidden = !hasMore;
  $("columns").hidden = !selected;
  $("unrevised").hidden = Boolean(selected);
  if (selected) showRevision(selected, active);
  show("detail");
  enter($("name"));
  if (selected) await log.refresh(`${route.path}/revisions/${selected.id}`, selected.status, signal);
}

function showDeployment(deployment, latest, active) {
  const { custom_url, deployment_type } = deployment.source_config;
  setText($("name"), deployment.name);
  setStatus($("state"), latest?.status ?? "");
  if (latest) announce(deployment, latest.status);
  document.title = `${deployment.name} (${$("state").textContent}) – agentcli host`;
  describe($("facts"), [
    ["URL", custom_url && external(custom_url)],
    ["Serves", active ? `revision ${number(active)}` : "nothing"],
    ["Source", deployment.source],
    ["Type", deployment_type],
    ["Created", ago(deployment.created_at)],
    ["ID", deployment.id],
  ]);
}

function newRevision({ id }) {
  const link = element("a", { href: `#/deployments/${route.id}/revisions/${id}` });
  link.append(element("b"), element("span"), element("i"), element("small"));
  link.dataset.row = "";
  return element("li", {}, link);
}

function updateRevision(item, revision) {
  const link = item.firstChild;
  const [name, status, tag, time] = link.children;
  setText(name, number(revision));
  setStatus(status, revision.status);
  const isActive = revision.id === shown.active?.id;
  tag.className = isActive ? "tag" : "";
  setText(tag, isActive ? "serves" : "");
  setText(time, ago(revision.created_at).textContent);
  if (revision.id === shown.selected.id) link.setAttribute("aria-current", "true");
  else link.removeAttribute("aria-current");
}

function showRevision(selected, active) {
  const { status } = selected;
  const fields = Object.entries(selected.source_revision_config)
    .filter(([name, value]) => typeof value === "string" && name !== "source_tarball_path");
  setText($("revision-title"), `Revision ${number(selected)}`);
  setStatus($("revision-state"), status);
  $("redeploy").hidden = !isFinal(status);
  setText($("redeploy"), isEarlier(selected, active) ? "Roll back to this…" : "Redeploy…");
  $("interrupt").hidden = isFinal(status);
  $("reason").hidden = !selected.reason;
  setText($("reason"), selected.reason ?? "");
  describe($("revision-facts"), [
    ["Created", ago(selected.created_at)],
    [isFinal(status) ? "Took" : "Running for", between(selected.created_at, isFinal(status) ? selected.updated_at : Date.now())],
    ["ID", selected.id],
    ...fields.map(([name, value]) => [words(name).replace(/uri|sha/, (it) => it.toUpperCase()), value]),
  ]);
}

const isEarlier = (selected, active) => selected.status === "DEPLOYED" && selected.number < active?.number;

// Actions

function ask({ title, text, verb, isDanger, name, run }) {
  act = { name, run };
  setText($("confirm-title"), title);
  setText($("confirm-text"), text);
  setText($("confirm-error"), "");
  setText($("proceed"), verb);
  $("proceed").className = isDanger ? "danger" : "primary";
  $("confirm-name").hidden = !name;
  $("confirm-name").lastElementChild.value = "";
  $("confirm").showModal();
  (name ? $("confirm-name").lastElementChild : $("proceed")).focus();
}

$("confirm").addEventListener("submit", async (event) => {
  event.preventDefault();
  if ($("proceed").ariaDisabled === "true") return;
  if (act.name && $("confirm-name").lastElementChild.value.trim() !== act.name) {
    return setText($("confirm-error"), "This is not the name of the deployment.");
  }
  $("proceed").ariaDisabled = "true";
  try {
    await act.run();
    $("confirm").close();
    $("revision-title").focus();
  } catch (failure) {
    setText($("confirm-error"), failure.message);
  }
  $("proceed").ariaDisabled = null;
});

/** A call about the selected revision; the latest one is shown afterwards. */
function change(path, address) {
  return async () => {
    await call("POST", path);
    if (location.hash === address) poll.restart();
    else location.hash = address;
  };
}

$("redeploy").addEventListener("click", () => {
  const { deployment, selected, active } = shown;
  const isBack = isEarlier(selected, active);
  ask({
    title: `${isBack ? "Roll back" : "Redeploy"} ${deployment.name} ${isBack ? "to" : "from"} revision ${number(selected)}?`,
    text: `A new revision starts with the configuration of revision ${number(selected)} and the current secrets. `
      + "Requests go to it when it is healthy.",
    verb: isBack ? "Roll back" : "Redeploy",
    run: change(`${route.path}/revisions/${selected.id}/redeploy`, `#/deployments/${route.id}`),
  });
});

$("interrupt").addEventListener("click", () => {
  const { deployment, selected, active } = shown;
  ask({
    title: `Interrupt revision ${number(selected)} of ${deployment.name}?`,
    text: active ? `Revision ${number(active)} goes on serving requests.` : "No revision serves requests yet.",
    verb: "Interrupt",
    isDanger: true,
    run: change(`${route.path}/revisions/${selected.id}/interruption`, location.hash),
  });
});

$("delete").addEventListener("click", () => {
  const { path } = route;
  ask({
    title: `Delete ${shown.deployment.name}?`,
    text: "Its containers, images, logs and its database are removed. This cannot be undone.",
    verb: "Delete",
    isDanger: true,
    name: shown.deployment.name,
    run: async () => {
      // It would ask for a deployment that is gone.
      poll.stop();
      try {
        await call("DELETE", path);
      } catch (failure) {
        poll.restart();
        throw failure;
      }
      location.hash = "#/";
    },
  });
});

// Input

document.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  const row = event.target.closest?.("[data-row]");
  if (!step || !row || event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = [...row.closest("tbody, ol").querySelectorAll("[data-row]")];
  rows[rows.indexOf(row) + step]?.focus();
  event.preventDefault();
});

function showMore() {
  count += BATCH;
  poll.restart();
}

let timer;
$("search").addEventListener("input", () => {
  clearTimeout(timer);
  count = BATCH;
  timer = setTimeout(() => poll.restart(), 250);
});
$("more").addEventListener("click", showMore);
$("older").addEventListener("click", showMore);
$("retry").addEventListener("click", () => poll.restart());
$("sign-out").addEventListener("click", signOut);
$("cancel").addEventListener("click", () => $("confirm").close());
$("skip").addEventListener("click", () => $("main").focus());
addEventListener("hashchange", go);
log.onFilter(() => poll.restart());
go();
