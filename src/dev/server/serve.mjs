// Runs the agent server. Arguments: {"server": the URL of its module, "sockets": descriptors of the sockets to accept
// connections from, "patience": milliseconds for open connections to finish, "tls": [certificate, key] or null, "tells": {"mark": what
// marks lines for dev, "isQuiet": whether only those are wanted}, "standby": null,
// or {"waits": whether this is a standby, "roots": directories of the project, "modules": file of the record}}, and last, where
// the server's preload script looks for them, the server's own options; both as JSON.
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import threads from "node:worker_threads";

const [{ server, sockets, patience, tls, standby, tells }, options] = process.argv.slice(-2).map((text) => JSON.parse(text));
process.env.PORT = String(options.port);
if (standby?.waits) await standBy(server, standby);
const imports = standby && new Imports(standby.modules);

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

// Lets the next process have the connections that this one has not accepted, and answers the others.
function end() {
  const closed = accepting.map((server) => new Promise((resolve) => server.close(resolve)));
  setInterval(() => accepting[0]?.closeIdleConnections(), 20);
  return Promise.race([Promise.all(closed), sleep(patience)]);
}

// Lets a run start, and its answer end, at once: by itself, the server looks for both at intervals.
const INTERVAL = 500;
// The queue passes over runs of the current millisecond.
const NEXT_MILLISECOND = 2;
function wakeQueue(runs, { readers }) {
  const { put, next } = runs;
  let added, wake;
  const renew = () => (added = new Promise((resolve) => (wake = resolve)));
  renew();
  runs.put = async function (...settings) {
    const all = await put.apply(this, settings);
    setTimeout(() => (wake(), renew()), NEXT_MILLISECOND);
    return all;
  };
  runs.next = async function* () {
    for (;;) {
      const isAdded = added;
      for await (const one of next.call(this)) {
        yield one;
        // Asked for the next one, the server has finished this one.
        const { run_id: id } = one.run;
        readers[id]?.push({ topic: `run:${id}:control`, data: "done" });
      }
      await Promise.race([isAdded, sleep(INTERVAL)]);
    }
  };
}

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
  const finish = () => end().then(cleanup).finally(() => (imports?.record(), process.exit(0)));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, finish);
} catch (error) {
  console.error(error?.stack ?? error);
  process.exit(1);
}
serveWith(createServer);
