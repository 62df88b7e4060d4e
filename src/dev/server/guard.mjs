// Refuses requests of foreign web pages before any of the server's code sees them, by the rules of guard.rs, which are
// the constant `rules` in front of this text, and serves the page.
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";

// More refusals are not reported, so that a page cannot fill the log.
const MOST_REPORTED = 100;
const LONGEST_REPORTED = 200;
const LONGEST_DETAIL = 500;

const whole = (pattern) => new RegExp(`^(?:${pattern})$`);
const hostPattern = whole(rules.hosts);
const loopback = whole(rules.loopback);
// As the server matches it.
const pattern = rules.pattern ? new RegExp(rules.pattern) : undefined;
const ownHosts = whole(rules.here.hosts);
const ownPeers = whole(rules.here.peers);
const reported = new Set();

function isAllowed(origin, hosts) {
  const allowed = rules.origins;
  return (
    allowed.includes("*") ||
    allowed.includes(origin) ||
    hosts.some((host) => origin.toLowerCase() === `${rules.scheme}://${host}`) ||
    loopback.test(origin.toLowerCase()) ||
    Boolean(pattern?.test(origin))
  );
}

// What refuses a request, and the values of its headers, if anything does.
function refused(request) {
  const { host: named = [], origin: origins = [] } = request.headersDistinct;
  const target = /^[a-z]+:\/\/([^/?#]*)/i.exec(request.url)?.slice(1) ?? [];
  const hosts = [...named, ...target].map((host) => host.toLowerCase());
  if (named.length > 1 || !hosts.every((host) => hostPattern.test(host))) return ["host", hosts];
  if (origins.length > 1 || !origins.every((origin) => isAllowed(origin, hosts))) {
    return [origins.join() === "null" ? "null" : "origin", origins];
  }
}

// Whether the request is for a route that the server has for its own tests.
function isHidden(request) {
  try {
    const url = request.url.startsWith("/") ? `http://localhost${request.url}` : request.url;
    return rules.hidden.includes(decodeURIComponent(new URL(url).pathname));
  } catch {
    return false;
  }
}

// Whether a request comes from this machine, and not through a tunnel.
function isHere(request) {
  const { host: hosts = [] } = request.headersDistinct;
  return ownPeers.test(request.socket.remoteAddress ?? "") && hosts.every((host) => ownHosts.test(host.toLowerCase()));
}

// Leaves the header by which the studio passes the project's authentication to requests of this machine.
function withholdStudio(request) {
  const { header, ignored } = rules.here;
  if (!(header in request.headers) || isHere(request)) return;
  report(ignored);
  delete request.headers[header];
  const raw = request.rawHeaders;
  for (let at = raw.length - 2; at >= 0; at -= 2) {
    if (raw[at].toLowerCase() === header) raw.splice(at, 2);
  }
}

function report(message) {
  if (!reported.has(message) && reported.size < MOST_REPORTED) {
    reported.add(message);
    process.stdout.write(`${message}\n`);
  }
  return message;
}

// The message about a refused request.
function explained(what, values, remedy) {
  const shown = values
    .join(", ")
    .slice(0, LONGEST_REPORTED)
    .replace(/[^ -~]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return `${what} \`${shown}\`; ${remedy}`;
}

// The status and text of an answer to a request that the server does not get.
function refusal(request) {
  const [reason, values] = refused(request) ?? [];
  if (reason) {
    const [status, what, remedy] = rules.refusals[reason];
    return [status, report(explained(what, values, remedy))];
  }
  if (isHidden(request)) return [404, http.STATUS_CODES[404]];
}

function answer(response, status, detail) {
  const body = JSON.stringify({ detail });
  const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body), Connection: "close" };
  if (response instanceof http.ServerResponse) {
    response.writeHead(status, headers).end(body);
  } else {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    response.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`);
  }
}

const page = readFileSync(rules.page.file);
const pageHeaders = { ...Object.fromEntries(rules.page.headers), "content-length": page.length };

function isPage({ method, url, headers }) {
  return method === "GET" && url.split("?")[0] === rules.page.path && Boolean(headers.accept?.includes("text/html"));
}

// Serves the page instead of the answer to a path without a route.
function servePageInstead(response) {
  const { writeHead, end } = response;
  response.writeHead = function (status, ...rest) {
    response.writeHead = writeHead;
    if (status !== 404) return writeHead.call(this, status, ...rest);
    response.write = () => true;
    response.end = () => end.call(this, page);
    return writeHead.call(this, 200, pageHeaders);
  };
}

// Tells dev of a request that the server refuses.
function watch(request, response) {
  const { end, write } = response;
  let detail = "";
  const read = (text) => {
    if (response.statusCode < 400 || detail.length > LONGEST_DETAIL) return;
    if (typeof text === "string" || ArrayBuffer.isView(text)) detail += Buffer.from(text).toString();
  };
  response.write = function (text, ...rest) {
    read(text);
    return write.call(this, text, ...rest);
  };
  response.end = function (text, ...rest) {
    response.end = end;
    read(text);
    const path = request.url.split("?")[0];
    if (response.statusCode >= 400 && path !== "/favicon.ico") {
      const told = { event: "request", method: request.method, path, status: response.statusCode, detail: explanation(detail) };
      process.stdout.write(`${rules.mark}${JSON.stringify({ time: new Date().toTimeString().slice(0, 8), ...told })}\n`);
    }
    return end.call(this, text, ...rest);
  };
}

function explanation(text) {
  let found = text;
  try {
    const json = JSON.parse(text);
    found = json.detail ?? json.message ?? json.error ?? json;
  } catch {
    // Not JSON: as it is.
  }
  return (typeof found === "string" ? found : JSON.stringify(found)).slice(0, LONGEST_DETAIL);
}

const REQUESTS = ["checkContinue", "checkExpectation", "connect", "request", "upgrade"];
const guarded = new WeakSet();
for (const { prototype } of [http.Server, https.Server]) {
  const { emit } = prototype;
  prototype.emit = function (event, request, response) {
    if (event === "listening" && rules.ports.includes(this.address()?.port)) guarded.add(this);
    if (!REQUESTS.includes(event) || !guarded.has(this)) return emit.apply(this, arguments);
    const refused = refusal(request);
    if (refused) {
      answer(response, ...refused);
      return true;
    }
    withholdStudio(request);
    if (event === "request") watch(request, response);
    if (event === "request" && isPage(request)) {
      if (!rules.page.shared) {
        response.writeHead(200, pageHeaders).end(page);
        return true;
      }
      servePageInstead(response);
    }
    return emit.apply(this, arguments);
  };
}
