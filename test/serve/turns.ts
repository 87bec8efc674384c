import { setImmediate } from "node:timers/promises";

/** Processor time of this thread, in milliseconds. */
export function processorNow(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Processor time that work took, and its longest turn, in which all else waits. */
export async function turnsOf(work: () => Promise<unknown>) {
  let longest = 0;
  const over = new AbortController();
  const begun = processorNow();
  const looking = (async () => {
    for (let before = begun; !over.signal.aborted; before = processorNow()) {
      await setImmediate();
      longest = Math.max(longest, processorNow() - before);
    }
  })();
  await work();
  const whole = processorNow() - begun;
  over.abort();
  await looking;
  return { whole, longest };
}
