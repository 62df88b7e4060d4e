// The server: requests and streams. All of them go to the origin of the page.

/** Routes begin here: the directory of the page, without a slash at its end. */
const BASE = location.pathname.replace(/\/[^/]*$/, "");
const HEADERS = "agentcli-headers";

/** An answer that is no success, or none at all. */
class Failure extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

function readHeaders(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  return lines.map((line) => {
    const [, name, value] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    if (!name) throw new Failure(`This is not a header: ${line}`);
    new Headers([[name, value]]);
    return [name, value];
  });
}

const headersText = () => sessionStorage.getItem(HEADERS) ?? "";

/** Sends a request; the answer has a status of success. */
async function send(method, path, { body, signal } = {}) {
  const headers = new Headers(readHeaders(headersText()));
  if (body !== undefined) headers.set("Content-Type", "application/json");
  const text = body === undefined ? undefined : JSON.stringify(body);
  let response;
  try {
    response = await fetch(BASE + path, { method, headers, body: text, signal, cache: "no-store", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("The server does not answer.");
  }
  if (response.ok) return response;
  const said = await response.text().catch(() => "");
  let detail = said;
  try {
    const json = JSON.parse(said);
    const found = json.detail ?? json.message ?? json.error ?? json;
    detail = typeof found === "string" ? found : JSON.stringify(found);
  } catch {
    // Not JSON: as it is.
  }
  throw new Failure(`${method} ${path}: ${response.status} ${detail.slice(0, 1000)}`, response.status);
}

const ask = async (method, path, body) => (await send(method, path, { body })).json();

/** The events of a stream, as `{event, data}`. Ends with the stream; throws if the connection breaks. */
async function* events(method, path, options) {
  const response = await send(method, path, options);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = [];
  let event = "message";
  let data = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = value.split(/\r\n|\n|\r/);
    rest.push(lines[0]);
    if (lines.length === 1) continue;
    lines[0] = rest.join("");
    rest = [lines.pop()];
    for (const line of lines) {
      if (line === "") {
        if (data.length) yield { event, data: JSON.parse(data.join("\n")) };
        event = "message";
        data = [];
      } else if (line.startsWith("event:")) event = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    }
  }
}

const path = (...parts) => parts.map((part) => `/${encodeURIComponent(part)}`).join("");
