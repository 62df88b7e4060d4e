// Runs the agent server. Arguments: {"server": the URL of its module, "tls": [certificate, key] or null}, and last,
// where the server's preload script looks for them, the server's own options; both as JSON.
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";

const [{ server, tls }, options] = process.argv.slice(-2).map((text) => JSON.parse(text));
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
try {
  const { startServer } = await import(server);
  const { cleanup } = await startServer(options);
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => cleanup().finally(() => process.exit(0)));
  }
} catch (error) {
  console.error(error?.stack ?? error);
  process.exit(1);
}
serveWith(createServer);
