// The log of a revision: read by cursor, followed, and filtered by the service.

import { $, element, setText } from "./dom.js";
import { call } from "./api.js";

const PAGE = 1000;
/** Number of entries that are kept while the log is followed. */
const KEPT = 5000;
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\].*?(?:\x07|\x1b\\)|[@-Z\\^_])/g;
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

const box = $("log");
const list = box.querySelector("ol");
const form = $("log-filter");
let source, cursor, chosen;

/** Calls `changed` when another part of the log is wanted. */
export function onFilter(changed) {
  let timer;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", ({ target }) => {
    if (target.name === "kind") chosen = { path: source?.path, kind: target.value };
    if (target === $("follow")) scroll();
    else changed();
  });
  $("text").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(changed, 250);
  });
  box.addEventListener("scroll", () => {
    $("follow").checked = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
  });
}

/** Reads what is new in the log of the revision at `path`. */
export async function refresh(path, status, signal) {
  const kind = chosen?.path === path ? chosen.kind : /DEPLOY/.test(status) ? "deploy" : "build";
  form.elements.kind.value = kind;
  const query = new URLSearchParams({ type: kind, limit: PAGE });
  if ($("level").value) query.set("level", $("level").value);
  if ($("text").value) query.set("query", $("text").value);
  const url = `${path}/logs?${query}`;
  let isNew = source?.url !== url;
  if (source && source.path !== path) list.replaceChildren();
  for (let isFull = true; isFull; ) {
    const after = isNew || cursor === undefined ? "" : `&offset=${encodeURIComponent(cursor)}`;
    const { logs, next_offset } = await call("GET", url + after, signal);
    if (isNew) {
      source = { path, url };
      cursor = undefined;
      list.replaceChildren();
      $("trimmed").hidden = $("follow").checked = true;
      isNew = false;
    }
    cursor = next_offset ?? cursor;
    list.append(...logs.map(entry));
    isFull = logs.length === PAGE;
    if (logs.length) scroll();
  }
  const filter = query.has("level") || query.has("query");
  setText($("silent"), list.children.length ? "" : filter ? "No entries match." : "No entries.");
}

function scroll() {
  if (!$("follow").checked) return;
  while (list.children.length > KEPT) {
    list.firstChild.remove();
    $("trimmed").hidden = false;
  }
  box.scrollTop = box.scrollHeight;
}

function entry({ timestamp, level = "", message = "" }) {
  const time = new Date(timestamp);
  const day = DAY.format(time) === DAY.format() ? "" : `${DAY.format(time)} `;
  return element("li", { className: level.toLowerCase() },
    element("time", { dateTime: time.toISOString(), title: time.toLocaleString(), textContent: day + CLOCK.format(time) }),
    element("i", { textContent: level }),
    element("span", { textContent: message.replace(ESCAPES, "") }));
}
