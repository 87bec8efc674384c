import { setImmediate as nextTurn } from "node:timers/promises";
import type { Worker } from "node:worker_threads";

/** How many times as long a thread may take on a machine whose cores are busy. */
const SLOWEST = 10;
const LOOK_MS = 50;

/**
 * Calls `onOver` once a thread has computed for `ms` more milliseconds, not counting the time in which it waits for a
 * core, and after ten times as long in any case. The first half is measured by the clock, so that a quick program costs
 * no look. Returns a function that stops the measurement.
 */
export function afterComputing(thread: Worker, ms: number, onOver: () => void): () => void {
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    clearTimeout(look);
    clearTimeout(last);
  };
  const over = () => {
    if (isStopped) return;
    stop();
    onOver();
  };
  let before: NodeJS.CpuUsage | undefined;
  const takeALook = async () => {
    // Messages that the thread sent while the host was busy are handled first.
    await nextTurn();
    if (isStopped) return;
    const used = await usageOf(thread, before).catch(over);
    if (isStopped || !used) return;
    if (before && (used.user + used.system) / 1000 >= ms / 2) return over();
    before ??= used;
    look = setTimeout(() => void takeALook(), LOOK_MS);
  };
  let look = setTimeout(() => void takeALook(), ms / 2);
  const last = setTimeout(() => void nextTurn().then(over), ms * SLOWEST);
  return stop;
}

/** Time that the thread has computed, since `before` if that is given. Before node 24.6 it is the time that has gone by. */
async function usageOf(thread: Partial<Worker>, before: NodeJS.CpuUsage | undefined): Promise<NodeJS.CpuUsage> {
  if (thread.cpuUsage) return thread.cpuUsage(before);
  return { user: performance.now() * 1000 - (before?.user ?? 0), system: 0 };
}
