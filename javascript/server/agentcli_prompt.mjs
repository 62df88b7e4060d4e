// Lets a run of the server of `dev` and of images start, and its answer end, at once: by itself, it looks for both at intervals.
import { setTimeout as sleep } from "node:timers/promises";

const INTERVAL = 500;
// The queue passes over runs of the current millisecond.
const NEXT_MILLISECOND = 2;

export function wakeQueue(runs, { readers }) {
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

// Accepts no further connections, and answers the others for so many milliseconds.
export function answerAll([first, ...others], patience) {
  const closed = [first, ...others].map((server) => new Promise((resolve) => server?.close(resolve) ?? resolve()));
  setInterval(() => first?.closeIdleConnections(), 20);
  return Promise.race([Promise.all(closed), sleep(patience)]);
}
