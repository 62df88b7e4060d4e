// Records which packages the files of the project import. A standby imports them and the server, reads no file of the project,
// and waits for lines on stdin: "try" lets it load the project, and "serve" lets it serve.
import fs from "node:fs";
import Module, { createRequire, register, syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MessageChannel, receiveMessageOnPort } from "node:worker_threads";

const isPackage = (file) => /[/\\]node_modules[/\\]/.test(file);
const packageOf = (file) => /^.*[/\\]node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)/.exec(file)?.[1];

// What runs in the thread that resolves imports.
const HOOKS = `
let port;
export function initialize(data) {
  port = data;
}
const isPackage = ${isPackage};
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  const { parentURL = "" } = context;
  if (found.url.startsWith("file:") && isPackage(found.url) && !isPackage(parentURL)) port.postMessage(found.url);
  return found;
}`;

// The packages that files outside of node_modules import.
class Imports {
  #file;
  #port;
  #imported = new Set();
  #required = new Set();

  constructor(file) {
    this.#file = file;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, { data: port2, transferList: [port2] });
    const required = this.#required;
    const { _load } = Module;
    Module._load = function (request, parent, ...rest) {
      const loaded = _load.call(this, request, parent, ...rest);
      if (parent?.filename && !isPackage(parent.filename) && !Module.isBuiltin(request)) {
        const found = Module._resolveFilename(request, parent);
        if (isPackage(found)) required.add(found);
      }
      return loaded;
    };
  }

  record() {
    for (let sent; (sent = receiveMessageOnPort(this.#port)); ) this.#imported.add(sent.message);
    const { without } = readRecord(this.#file);
    writeRecord(this.#file, { imported: [...this.#imported], required: [...this.#required], without });
  }
}

function readRecord(file) {
  try {
    return JSON.parse(fs.readFileSync(file, "utf8"));
  } catch {
    return { imported: [], required: [], without: [] };
  }
}

function writeRecord(file, record) {
  try {
    fs.writeFileSync(`${file}.new`, JSON.stringify(record));
    fs.renameSync(`${file}.new`, file);
  } catch {
    // Without it, the next standby imports only the server.
  }
}

// The exit code of a standby that cannot serve, which may have been told to meanwhile.
const UNUSABLE = 75;

// Calls `found` when a file of the project is read, until the function that it returns is called.
function watchReads(roots, found) {
  const inside = roots.map((root) => path.join(root, path.sep));
  const isProject = (file) => inside.some((root) => file.startsWith(root)) && !isPackage(file);
  const check = (file) => {
    const name = file instanceof URL ? fileURLToPath(file) : file;
    if (typeof name === "string" && isProject(path.resolve(name))) found(name);
  };
  const originals = [];
  for (const [of, names] of [
    [fs, ["createReadStream", "open", "openSync", "readdir", "readdirSync", "readFile", "readFileSync"]],
    [fs.promises, ["open", "readdir", "readFile"]],
  ]) {
    for (const name of names) {
      const original = of[name];
      originals.push(() => (of[name] = original));
      of[name] = function (file, ...rest) {
        check(file);
        return original.call(this, file, ...rest);
      };
    }
  }
  syncBuiltinESMExports();
  return () => {
    for (const restore of originals) restore();
    syncBuiltinESMExports();
  };
}

// Loads the project as the server does. Nothing can undo it: after a failure, this process is of no use.
async function load(server, { graphs, auth, http, cwd }) {
  const { resolveGraph } = await import(new URL("graph/load.utils.mjs", server));
  for (const graph of Object.values(graphs)) await resolveGraph(graph.path ?? graph, { cwd });
  const files = [auth?.path, http?.app].filter(Boolean).map((place) => path.resolve(cwd, place.split(":")[0]));
  for (const file of files) await import(pathToFileURL(file));
}

// Tells dev whether the project loads.
async function tryToLoad(server, options, mark) {
  let loads = true;
  try {
    await load(server, options);
  } catch (error) {
    loads = false;
    console.log(error?.stack ?? error);
  }
  console.log(mark + JSON.stringify({ event: "tried", loads }));
  if (!loads) process.exit(1);
}

// Returns when it is time to serve, with the record of what was imported meanwhile.
async function standBy(server, { modules, roots }, options, mark) {
  const record = readRecord(modules);
  const isLeftOut = (file) => record.without.includes(packageOf(file));
  const require = createRequire(path.join(process.cwd(), "index.js"));
  let current = server;
  // What is half imported cannot be undone, and neither can a failure.
  function leaveOut() {
    writeRecord(modules, { ...record, without: [...record.without, packageOf(current)] });
    process.exit(UNUSABLE);
  }
  const end = watchReads(roots, leaveOut);
  try {
    await import(server);
    for (current of record.imported) if (!isLeftOut(current)) await import(current);
    for (current of record.required) if (!isLeftOut(current)) require(current);
  } catch {
    leaveOut();
  }
  end();
  const imports = new Imports(modules);
  while (readLine() === "try") await tryToLoad(server, options, mark);
  fs.closeSync(0);
  fs.openSync(process.platform === "win32" ? "NUL" : "/dev/null", "r");
  return imports;
}

// Blocks: nothing happens meanwhile.
function readLine() {
  const read = Buffer.alloc(1);
  for (let line = ""; ; line += read) {
    if (!fs.readSync(0, read)) process.exit();
    if (String(read) === "\n") return line;
  }
}
