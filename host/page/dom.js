// Elements. All text is set as text: names, reasons and logs are never parsed as HTML.

export const $ = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/** Sets a text only if it differs, so that selections survive a refresh. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Makes the children of `parent` those of `items`. Elements of the same key are kept, and with them focus and scroll. */
export function keyed(parent, items, key, create, update) {
  const keys = new Set(items.map(key));
  for (const node of [...parent.children]) if (!keys.has(node.dataset.key)) node.remove();
  const kept = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const node = kept.get(key(item)) ?? create(item);
    node.dataset.key = key(item);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
    update(node, item);
  }
}

/** Fills a description list with pairs of a term and a text or element; pairs without a value are left out. */
export function describe(list, pairs) {
  const create = ([term]) => element("div", {}, element("dt", { textContent: term }), element("dd"));
  keyed(list, pairs.filter(([, value]) => value), ([term]) => term, create, (node, [, value]) => {
    if (typeof value === "string") setText(node.lastChild, value);
    else if (!node.lastChild.firstChild?.isEqualNode(value)) node.lastChild.replaceChildren(value);
  });
}

/** A link to a deployment; its text alone unless the address is one of HTTP. */
export function external(url) {
  if (!/^https?:\/\//.test(url)) return element("span", { textContent: url });
  return element("a", { href: url, target: "_blank", rel: "noreferrer", textContent: url.replace(/^https?:\/\//, "") });
}

export const isFinal = (status) => /^(DEPLOYED|SKIPPED|INTERRUPTED)$|_FAILED$/.test(status);

/** `BUILD_FAILED` as `Build failed`. */
export function words(status) {
  const text = status.toLowerCase().replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function setStatus(node, status) {
  const tone = /_FAILED$/.test(status) ? "bad" : status === "DEPLOYED" ? "good" : isFinal(status) ? "none" : "busy";
  node.className = `status ${status ? tone : "none"}`;
  setText(node, status ? words(status) : "No revision");
}

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];

export function ago(time) {
  const seconds = (Date.now() - new Date(time)) / 1000;
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? [];
  const text = unit ? RELATIVE.format(-Math.floor(seconds / length), unit) : "just now";
  return element("time", { dateTime: time, title: new Date(time).toLocaleString(), textContent: text });
}

/** The time between two times, such as `1 min 12 s`. */
export function between(start, end) {
  const seconds = Math.max(0, Math.round((new Date(end) - new Date(start)) / 1000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
