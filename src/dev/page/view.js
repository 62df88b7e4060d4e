// Elements. All text is set as text: nothing of a server is parsed as HTML.

const LONGEST = 4000;
const LONGEST_VALUE = 600;
const MOST_ENTRIES = 100;

const $ = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children.filter((child) => child !== undefined && child !== null));
  return node;
}

const button = (text, onclick, className = "") => element("button", { type: "button", textContent: text, onclick, className });

/** A text of which the end comes on request, if it is long. */
function longText(text, longest = LONGEST) {
  const node = element("span", { textContent: text.slice(0, longest) });
  if (text.length <= longest) return node;
  const more = button(`Show all ${text.length.toLocaleString("en")} characters`, () => {
    node.firstChild.data = text;
    more.remove();
  }, "plain");
  node.append("… ", more);
  return node;
}

/** A value of JSON, of which the parts are made as they are opened. */
function tree(value, key, isOpen = false) {
  const name = key === undefined ? [] : [element("span", { className: "key", textContent: key }), ": "];
  if (value === null || typeof value !== "object") {
    const text = typeof value === "string" && key === undefined ? value : JSON.stringify(value) ?? "nothing";
    return element("div", { className: "tree leaf" }, ...name, longText(text, LONGEST_VALUE));
  }
  const entries = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  if (!entries.length) return element("div", { className: "tree leaf" }, ...name, Array.isArray(value) ? "[]" : "{}");
  const hint = Array.isArray(value) ? "" : ` ${entries.slice(0, 5).map(([own]) => own).join(", ")}`;
  const node = element("details", { className: "tree" }, element("summary", {}, ...name, element("span", { className: "quiet", textContent: `${size}${hint.slice(0, 80)}` })));
  let shown = 0;
  const show = () => {
    const end = shown + MOST_ENTRIES;
    node.append(...entries.slice(shown, end).map(([own, part]) => tree(part, own)));
    shown = end;
    if (shown < entries.length) {
      const more = button(`${entries.length - shown} more`, () => (more.remove(), show()), "plain");
      node.append(more);
    }
  };
  const open = () => node.open && !shown && show();
  node.addEventListener("toggle", open);
  node.open = isOpen;
  open();
  return node;
}

/** The text of a message, of which the content is a text or a list of blocks. */
function textOf({ content }) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content ? JSON.stringify(content) : "";
  return content.map((block) => block?.text ?? (typeof block === "string" ? block : block?.type === "tool_use" || block?.type === "input_json_delta" ? "" : `[${block?.type ?? "?"}]`)).join("");
}

/** The type of a message, also where it is written by hand. */
function roleOf({ type, role }) {
  const word = (type && type !== "constructor" ? type : role) ?? "message";
  return word.replace(/MessageChunk$/, "").toLowerCase().replace(/^user$/, "human").replace(/^(assistant)$/, "ai");
}

/** Text with its blocks of code. */
function prose(text) {
  const parts = text.length > 100_000 ? [text] : text.split(/^```[^\n]*\n([\s\S]*?)(?:^```[^\n]*$|$(?![\s\S]))/m);
  return parts.map((part, at) => (at % 2 ? element("pre", { tabIndex: 0, textContent: part.trimEnd() }) : longText(parts.length > 1 ? part.replace(/^\n+|\n+$/g, "") : part))).filter((node) => node.textContent);
}

const ROLES = { human: "You", ai: "Assistant", tool: "Tool", system: "System" };

function messageView(message) {
  const role = roleOf(message);
  const text = textOf(message);
  const name = message.name ? ` ${message.name}` : "";
  const node = element("li", { className: role }, element("p", { className: "who", textContent: (ROLES[role] ?? role) + name + (message.node ? ` · ${message.node}` : "") }));
  if (text) node.append(element("div", { className: "text", ...(role === "tool" && { tabIndex: 0 }) }, ...prose(text)));
  for (const call of message.tool_calls ?? []) node.append(element("div", { className: "card" }, element("span", { className: "quiet", textContent: `calls ${call.name}` }), tree(call.args ?? {}, undefined, true)));
  return node;
}

/** The error of a task or of a stream, in words. */
function errorText(error) {
  if (typeof error === "string") return error;
  const kind = error?.error ?? error?.name ?? "Error";
  return error?.message ? `${kind}: ${error.message}` : kind;
}

/** A form of which the fields follow from a JSON schema. */
class SchemaForm {
  constructor(place, schema) {
    this.schema = schema;
    this.required = new Set(schema.required ?? []);
    this.fields = Object.entries(schema.properties ?? {}).map(([name, own]) => this.field(name, this.resolved(own)));
    place.replaceChildren(...this.fields.map(({ row }) => row));
  }

  /** A schema without references, and without the alternative of null. */
  resolved(schema, depth = 0) {
    if (!schema || typeof schema !== "object" || depth > 8) return {};
    if (schema.$ref) {
      const target = schema.$ref.split("/").slice(1).reduce((at, part) => at?.[part], this.schema);
      return this.resolved({ ...target, ...schema, $ref: undefined }, depth + 1);
    }
    const choices = (schema.anyOf ?? schema.oneOf ?? []).filter((it) => it?.type !== "null");
    return choices.length === 1 ? this.resolved({ ...schema, anyOf: undefined, oneOf: undefined, ...choices[0] }, depth + 1) : schema;
  }

  field(name, schema) {
    const { description, default: value } = schema;
    const type = Array.isArray(schema.type) ? schema.type.find((it) => it !== "null") : schema.type;
    let input, read;
    const isOptional = !this.required.has(name);
    if (Array.isArray(schema.enum)) {
      input = element("select", {}, ...(isOptional ? [new Option("", "")] : []), ...schema.enum.map((it, at) => new Option(String(it), at, false, it === value)));
      read = () => (input.value === "" ? undefined : schema.enum[input.value]);
    } else if (type === "boolean") {
      input = element("input", { type: "checkbox", checked: value === true });
      let isSet = !isOptional || value !== undefined;
      input.onchange = () => (isSet = true);
      read = () => (isSet ? input.checked : undefined);
    } else if (type === "number" || type === "integer") {
      input = element("input", { type: "number", step: type === "integer" ? 1 : "any", value: value ?? "" });
      read = () => (input.value === "" ? undefined : Number(input.value));
    } else if (type === "string") {
      input = element("textarea", { rows: 1, value: value ?? "" });
      read = () => (input.value === "" && isOptional ? undefined : input.value);
    } else {
      input = element("textarea", { rows: 2, className: "code", spellcheck: false, value: value === undefined || value === null ? "" : JSON.stringify(value), placeholder: type === "array" ? "[…]" : type === "object" ? "{…}" : "JSON" });
      read = () => (input.value.trim() ? parsed(input.value, name) : undefined);
    }
    input.id = `field-${name}`;
    const kind = type && type !== "string" && type !== "boolean" ? ` (${type === "array" ? "list" : type})` : "";
    const row = element("div", {}, element("label", { htmlFor: input.id, textContent: (schema.title && schema.title.toLowerCase() !== name.replaceAll("_", " ").toLowerCase() ? schema.title : name) + kind }), input);
    if (description) {
      row.append(element("p", { className: "hint", id: `hint-${name}`, textContent: description.slice(0, 300) }));
      input.setAttribute("aria-describedby", `hint-${name}`);
    }
    return { name, row, read };
  }

  value() {
    return Object.fromEntries(this.fields.map(({ name, read }) => [name, read()]).filter(([, value]) => value !== undefined));
  }
}

function parsed(text, name) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure(`${name} is not JSON: ${error.message}`);
  }
}

/** JSON if it is some, or else text. */
function jsonOrText(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const clock = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
function moment(time) {
  const date = new Date(time);
  return date.toDateString() === new Date().toDateString() ? clock(time) : date.toLocaleString([], { dateStyle: "short", timeStyle: "short", hourCycle: "h23" });
}
