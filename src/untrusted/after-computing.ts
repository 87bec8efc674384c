import type { Worker } from "node:worker_threads";
import { after, cancel, monotonic, nextTurn } from "../clock.ts";

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
    cancel(look);
    cancel(last);
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
    look = after(LOOK_MS, () => void takeALook());
  };
  let look = after(ms / 2, () => void takeALook());
  const last = after(ms * SLOWEST, () => void nextTurn().then(over));
  return stop;
}

/** Time that the thread has computed, since `before` if that is given. Before node 24.6 it is the time that has gone by. */
async function usageOf(thread: Partial<Worker>, before: NodeJS.CpuUsage | undefined): Promise<NodeJS.CpuUsage> {
  if (thread.cpuUsage) return thread.cpuUsage(before);
  return { user: monotonic() * 1000 - (before?.user ?? 0), system: 0 };
}
