// Runs the agent server of an image, with the settings in its environment.
import fs from "node:fs";
import http from "node:http";
import { answerAll, wakeQueue } from "./agentcli_prompt.mjs";

const { env } = process;
const SERVER = "./node_modules/@langchain/langgraph-api/dist";
// Milliseconds for open responses when the server is stopped, less than the 10 seconds after which engines kill it.
const PATIENCE = 3000;
// A route that the server has for its own tests, and that needs no authentication.
const HIDDEN = "/internal/truncate";
const STATE = ".langgraph_api";

const setting = (name) => (env[name] ? JSON.parse(env[name]) : undefined);

// The server's own options.
function settings() {
  const auth = setting("LANGGRAPH_AUTH");
  return {
    host: "0.0.0.0",
    port: Number(env.PORT || 8000),
    nWorkers: Number(env.N_JOBS_PER_WORKER || 10),
    cwd: process.cwd(),
    graphs: setting("LANGSERVE_GRAPHS"),
    // A header of the hosted studio would replace the authentication of the project.
    auth: auth && { ...auth, disable_studio_auth: true },
    http: setting("LANGGRAPH_HTTP"),
  };
}

function isHidden({ url }) {
  try {
    const path = decodeURIComponent(new URL(url, "http://localhost").pathname);
    return path.replace(/\/+/g, "/").replace(/\/$/, "") === HIDDEN;
  } catch {
    return false;
  }
}

// Finds the HTTP server of the agent server, and hides a route of it.
const servers = [];
const { emit } = http.Server.prototype;
http.Server.prototype.emit = function (event, request, response) {
  if (event === "listening" && this.address()?.port === options.port) servers.push(this);
  if (event !== "request" || !isHidden(request)) return emit.apply(this, arguments);
  response.writeHead(404).end();
  return true;
};

const options = settings();
if (!Number.isInteger(options.port)) {
  console.error(`PORT is \`${env.PORT}\`, which is no number`);
  process.exit(1);
}
// Where the state is written: a link to the volume.
if (fs.existsSync(STATE)) {
  try {
    fs.accessSync(STATE, fs.constants.W_OK);
  } catch {
    const user = process.getuid();
    const place = fs.realpathSync(STATE);
    console.error(`user ${user} cannot write the state to ${place}; make it the owner: \`chown ${user} DIRECTORY\``);
    process.exit(1);
  }
}
env.PORT = String(options.port);
env.LANGGRAPH_API_URL ??= `http://localhost:${options.port}`;
env.LOG_LEVEL ||= "info";
env.NODE_ENV ||= "production";
// The server's preload script looks for the options there.
process.argv.push(JSON.stringify(options));

let cleanup = () => {};
// The first process of a container has no default action for signals.
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () =>
    answerAll(servers, PATIENCE)
      .then(() => cleanup())
      .catch(() => {})
      .finally(() => process.exit(0)),
  );
}
await import("tsx");
await import(`${SERVER}/preload.mjs`);
const { startServer } = await import(`${SERVER}/server.mjs`);
const { FileSystemRuns, StreamManager } = await import(`${SERVER}/storage/ops.mjs`);
// Another version may have another queue, which works as it is.
if (FileSystemRuns) wakeQueue(FileSystemRuns.prototype, StreamManager);
({ cleanup } = await startServer(options));
