// Runs the agent server. Arguments: {"server": the URL of its module, "sockets": descriptors of the sockets to accept
// connections from, "patience": milliseconds for open connections to finish, "tls": [certificate, key] or null}, and last,
// where the server's preload script looks for them, the server's own options; both as JSON.
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { setTimeout } from "node:timers/promises";

const [{ server, sockets, patience, tls }, options] = process.argv.slice(-2).map((text) => JSON.parse(text));
process.env.PORT = String(options.port);

// The server knows only HTTP; until it listens, what makes HTTP servers makes HTTPS servers.
const { createServer } = http;
function serveWith(create) {
  http.createServer = create;
  syncBuiltinESMExports();
}
if (tls) {
  const [cert, key] = tls.map((path) => readFileSync(path));
  serveWith((settings, listener) => https.createServer({ ...settings, cert, key }, listener));
}

// The sockets belong to agentcli. The server that listens on its port gets their connections.
const { listen } = net.Server.prototype;
const accepting = [];
net.Server.prototype.listen = function (port, ...settings) {
  if (port !== options.port) return listen.call(this, port, ...settings);
  net.Server.prototype.listen = listen;
  const [first, ...others] = sockets;
  const pass = (connection) => this.emit("connection", connection);
  accepting.push(this, ...others.map((fd) => net.createServer(pass).listen({ fd })));
  return this.listen({ fd: first }, settings.at(-1));
};

// Lets the next process have the connections that this one has not accepted, and answers the others.
function end() {
  const closed = accepting.map((server) => new Promise((resolve) => server.close(resolve)));
  setInterval(() => accepting[0]?.closeIdleConnections(), 20);
  return Promise.race([Promise.all(closed), setTimeout(patience)]);
}

try {
  const { startServer } = await import(server);
  const { cleanup } = await startServer(options);
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => end().then(cleanup).finally(() => process.exit(0)));
  }
} catch (error) {
  console.error(error?.stack ?? error);
  process.exit(1);
}
serveWith(createServer);
