// Runs the agent server. Arguments: {"server": the URL of its module, "sockets": descriptors of the sockets to accept
// connections from, "patience": milliseconds for open connections to finish, "tls": [certificate, key] or null, "tells": {"mark": what
// marks lines for dev, "isQuiet": whether only those are wanted}, "standby": null,
// or {"waits": whether this is a standby, "roots": directories of the project, "modules": file of the record}}, and last, where
// the server's preload script looks for them, the server's own options; both as JSON.
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import threads from "node:worker_threads";

const [{ server, sockets, patience, tls, standby, tells }, options] = process.argv.slice(-2).map((text) => JSON.parse(text));
process.env.PORT = String(options.port);
const imports = standby?.waits
  ? await standBy(server, standby, options, tells.mark)
  : standby && new Imports(standby.modules);

// A thread would have `--input-type` as well, which is an error for a file, such as the one that reads the schemas of graphs.
const { Worker } = threads;
const execArgv = process.execArgv.filter((option, at, all) => [option, all[at - 1]].includes("--import"));
threads.Worker = class extends Worker {
  constructor(file, options) {
    super(file, { execArgv, ...options });
  }
};
syncBuiltinESMExports();

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

async function start() {
  const { startServer } = await import(server);
  const operations = await import(new URL("storage/ops.mjs", server));
  const { FileSystemRuns, StreamManager } = operations;
  // Older versions have another queue, which works as it is.
  if (FileSystemRuns) wakeQueue(FileSystemRuns.prototype, StreamManager);
  // Without it, runs are served all the same.
  await tellOfRuns(server, operations, tells).catch(() => {});
  const { cleanup } = await startServer(options);
  imports?.record();
  return cleanup;
}

try {
  const cleanup = await start();
  // The next process gets the connections that this one has not accepted.
  const finish = () => answerAll(accepting, patience).then(cleanup).finally(() => (imports?.record(), process.exit(0)));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, finish);
} catch (error) {
  console.error(error?.stack ?? error);
  process.exit(1);
}
serveWith(createServer);
