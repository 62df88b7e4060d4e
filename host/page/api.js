// Calls to the API, with the key of this tab, and the loop that repeats them.

const STORED = "agentcli-host-key";
const TIMEOUT = 20_000;
const INTERVAL = 2_000;
const LONGEST_PAUSE = 30_000;

/** A call that failed; `status` is 0 if there was no answer. */
export class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The key; an empty one was rejected. */
export const storedKey = () => sessionStorage.getItem(STORED);
export const storeKey = (key) => sessionStorage.setItem(STORED, key);
export const removeKey = () => sessionStorage.removeItem(STORED);

export async function call(method, path, signal, key = storedKey()) {
  // Other characters cannot be sent in a header.
  if (!/^[\x21-\x7e]+$/.test(key ?? "")) throw new Failure(401, "Invalid API key.");
  const signals = [AbortSignal.timeout(TIMEOUT), ...(signal ? [signal] : [])];
  const options = { method, headers: { "X-Api-Key": key }, signal: AbortSignal.any(signals), cache: "no-store" };
  let response, text;
  try {
    response = await fetch(path, { ...options, credentials: "omit", redirect: "error" });
    text = await response.text();
  } catch {
    throw new Failure(0, "The service does not answer.");
  }
  signal?.throwIfAborted();
  if (!response.ok) throw new Failure(response.status, reason(text) ?? `The service answered with ${response.status}.`);
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    throw new Failure(response.status, "The answer of the service is not JSON.");
  }
}

function reason(text) {
  try {
    const { detail } = JSON.parse(text);
    return Array.isArray(detail) ? detail.map(({ msg }) => msg).join(" ") : detail;
  } catch {
    return null;
  }
}

/** The first `count` resources of a list, and whether there are more. */
export async function page(path, count, signal) {
  const found = [];
  while (found.length <= count) {
    const limit = Math.min(100, count + 1 - found.length);
    const query = `${path.includes("?") ? "&" : "?"}limit=${limit}&offset=${found.length}`;
    const { resources } = await call("GET", path + query, signal);
    found.push(...resources);
    if (resources.length < limit) break;
  }
  return { resources: found.slice(0, count), hasMore: found.length > count };
}

/** Repeats `task` while the page is visible, with growing pauses while it fails. */
export class Poll {
  #task;
  #failed;
  #failures = 0;
  #controller = new AbortController();
  #timer;

  /** `failed` gets the failure and the pause in milliseconds, and null after a success; it returns whether to go on. */
  constructor(task, failed) {
    this.#task = task;
    this.#failed = failed;
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.stop();
      else if (storedKey()) this.restart();
    });
  }

  stop() {
    clearTimeout(this.#timer);
    this.#controller.abort();
  }

  /** Runs the task now; what the last run still waits for is dropped. */
  async restart() {
    this.stop();
    const { signal } = (this.#controller = new AbortController());
    let pause = INTERVAL;
    try {
      await this.#task(signal);
      this.#failures = 0;
      this.#failed(null);
    } catch (failure) {
      if (signal.aborted) return;
      pause = Math.min(LONGEST_PAUSE, INTERVAL * 2 ** this.#failures++);
      if (!(failure instanceof Failure)) reportError(failure);
      else if (!this.#failed(failure, pause)) return;
    }
    this.#timer = setTimeout(() => this.restart(), pause);
  }
}
