// Tells dev of each run, in a line for it, and adds to the error of a run where it failed.
const MOST_NODES = 50;
const LONGEST = 500;

function tell(mark, { error, ...parts }) {
  const time = new Date().toTimeString().slice(0, 8);
  process.stdout.write(`${mark}${JSON.stringify({ time, ...parts, error: error?.slice(0, LONGEST) })}\n`);
}

// The first frame of the project in the stack of an error.
function placeOf(error) {
  const own = path.join(process.cwd(), path.sep);
  for (const [, file, line] of (error?.stack ?? "").matchAll(/((?:file:\/\/)?\/[^():]+):(\d+):\d+\)?$/gm)) {
    const name = file.startsWith("file:") ? fileURLToPath(file) : file;
    if (name.startsWith(own) && !isPackage(name)) return `${path.relative(own, name)}:${line}`;
  }
}

// Where runs failed, by their IDs, until the error is published.
const failures = new Map();

async function* followed(events, options, mark) {
  const [started, nodes, running] = [Date.now(), [], new Map()];
  const report = { run: options.runId, graph: options.configurable?.graph_id ?? "", status: "stopped" };
  try {
    for await (const event of events) {
      const [mode, chunk] = event.event === "on_chain_stream" && event.run_id === options.runId ? event.data.chunk.slice(-2) : [];
      const isInside = event.data?.chunk?.length === 3 && event.data.chunk[0]?.length > 0;
      if (mode === "debug" && !isInside) {
        const { id, name, interrupts, error } = chunk.payload;
        if (chunk.type === "task") {
          running.set(id, name);
          if (nodes.length < MOST_NODES) nodes.push(name);
        } else if (chunk.type === "task_result") {
          if (!error) running.delete(id);
          if (interrupts?.length) report.waits = true;
        }
      }
      yield event;
    }
    report.status = report.waits ? "interrupted" : "ok";
  } catch (error) {
    if (!options.signal?.aborted) {
      const where = { node: running.values().next().value, place: placeOf(error) };
      failures.set(options.runId, where);
      Object.assign(report, { status: "failed", error: `${error?.name ?? "Error"}: ${error?.message ?? error}` }, where);
    }
    throw error;
  } finally {
    delete report.waits;
    tell(mark, { event: "run", milliseconds: Date.now() - started, nodes, ...report });
  }
}

async function tellOfRuns(server, { FileSystemRuns }, { mark, isQuiet }) {
  const { Pregel } = await import("@langchain/langgraph/pregel");
  const { streamEvents } = Pregel.prototype;
  Pregel.prototype.streamEvents = function (input, options, ...rest) {
    const events = streamEvents.call(this, input, options, ...rest);
    return options?.runId && options.version === "v2" ? followed(events, options, mark) : events;
  };
  const stream = FileSystemRuns?.Stream?.prototype;
  if (stream) {
    const { publish } = stream;
    stream.publish = function (payload) {
      const { event, runId, data } = payload;
      if (event !== "error" || !failures.has(runId)) return publish.call(this, payload);
      const where = failures.get(runId);
      failures.delete(runId);
      return publish.call(this, { ...payload, data: { ...data, ...where } });
    };
  }
  if (!isQuiet) return;
  const { logger } = await import(new URL("logging.mjs", server));
  const { transform } = logger.format;
  logger.format.transform = (info, options) => !/^Background run failed:/.test(info.message) && transform.call(logger.format, info, options);
}
