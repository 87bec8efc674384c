import { readdirSync, readFileSync } from "node:fs";

/** Middle of several figures. */
export function median(figures) {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)];
}

/** Milliseconds that something takes, once. */
export async function timed(run) {
  const since = performance.now();
  await run();
  return performance.now() - since;
}

/**
 * Median milliseconds of `count` runs, after `warmUp` that do not count; of fewer, and at least one, where `withinMs` is
 * over before that. `before` runs before each and is not timed.
 */
export async function medianOf(run, { count, warmUp, withinMs = Infinity, before = async () => {} }) {
  const figures = [];
  const end = performance.now() + withinMs;
  for (let index = 0; index < count + warmUp; index += 1) {
    if (performance.now() > end && figures.length > 0) break;
    await before();
    const ms = await timed(run);
    if (index >= warmUp || performance.now() > end) figures.push(ms);
  }
  return median(figures);
}

/** Times a second that something is done when so many do it at once, over some seconds. */
export async function perSecond(run, { wide, seconds }) {
  const since = performance.now();
  const end = since + seconds * 1000;
  let done = 0;
  const worker = async () => {
    while (performance.now() < end) {
      await run();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: wide }, worker));
  return (done / (performance.now() - since)) * 1000;
}

/** Resident memory of a process and all below it, in MB. Linux only. */
export function treeMemory(pid = process.pid) {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
    return childrenOf(pid).reduce((sum, child) => sum + treeMemory(child), (pages * 4096) / 1e6);
  } catch {
    return 0;
  }
}

/**
 * The same with pages that several processes share counted once, as shares. Most of an idle engine is the binary of node,
 * which is in memory once. Takes a millisecond for each process.
 */
export function treeShare(pid = process.pid) {
  try {
    const [, kilobytes] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")) ?? [];
    return childrenOf(pid).reduce((sum, child) => sum + treeShare(child), (Number(kilobytes) * 1024) / 1e6);
  } catch {
    return 0;
  }
}

/**
 * Processor time of a process, of all below it and of those below it that have ended, in milliseconds. Linux only, where a
 * tick is 10 ms.
 */
export function treeProcessor(pid = process.pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const ticks = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 15);
    const own = ticks.reduce((sum, field) => sum + Number(field) * 10, 0);
    return childrenOf(pid).reduce((sum, child) => sum + treeProcessor(child), own);
  } catch {
    return 0;
  }
}

function childrenOf(pid) {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
}

/** Most memory that a process and all below it take until it ends, in MB: looked at every 5 ms. */
export async function peakMemory(child) {
  return peakOf(child, treeMemory, 5);
}

/** The same with shared pages counted once: looked at every 100 ms. */
export async function peakShare(child) {
  return peakOf(child, treeShare, 100);
}

function peakOf(child, memoryOf, everyMs) {
  let peakMb = 0;
  const look = setInterval(() => {
    peakMb = Math.max(peakMb, memoryOf(child.pid));
  }, everyMs);
  return new Promise((resolve) => {
    child.once("close", () => {
      clearInterval(look);
      resolve(peakMb);
    });
  });
}
