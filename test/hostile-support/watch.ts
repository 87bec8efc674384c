import { collectGarbage } from "../support/collect-garbage.ts";
import { waitedMs } from "./engines.ts";

const TICK_MS = 5;

/** What an attack cost the host while it went on. */
export interface HostCost {
  /** Longest time that nothing else ran in the host. */
  readonly gapMs: number;
  /**
   * The same without the time that the host's thread, or one of V8's that it waits for while garbage is collected, was ready
   * to run but had no core: what the host itself is to blame for.
   */
  readonly ownGapMs: number;
  /** Resident memory at its highest, above what it was before; garbage not yet collected included. */
  readonly peakBytes: number;
}

/** Watches this process's event loop and memory until it is told to stop. */
export class HostWatch {
  readonly #baseBytes = process.memoryUsage.rss();
  readonly #timer: NodeJS.Timeout;
  #lastMs = performance.now();
  #lastWaitedMs = waitedMs();
  #gapMs = 0;
  #ownGapMs = 0;
  #peakBytes = 0;

  constructor() {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  stop(): HostCost {
    this.#tick();
    clearInterval(this.#timer);
    return { gapMs: this.#gapMs, ownGapMs: this.#ownGapMs, peakBytes: this.#peakBytes };
  }

  #tick(): void {
    const nowMs = performance.now();
    const waited = waitedMs();
    const gapMs = nowMs - this.#lastMs;
    this.#gapMs = Math.max(this.#gapMs, gapMs);
    this.#ownGapMs = Math.max(this.#ownGapMs, gapMs - this.#withoutCoreMs(waited));
    this.#lastMs = nowMs;
    this.#lastWaitedMs = waited;
    this.#peakBytes = Math.max(this.#peakBytes, process.memoryUsage.rss() - this.#baseBytes);
  }

  /** The main thread waits for a core by itself, and then for the last of the threads that collect with it. */
  #withoutCoreMs(waited: ReadonlyMap<number, number>): number {
    let own = 0;
    let others = 0;
    for (const [id, ms] of waited) {
      const more = ms - (this.#lastWaitedMs.get(id) ?? 0);
      if (id === process.pid) own = more;
      else others = Math.max(others, more);
    }
    return own + others;
  }
}

/** Memory that this process holds. */
export interface MemoryHeld {
  readonly residentBytes: number;
  readonly usedBytes: number;
}

/** What is held once all that can be collected is. `regular` takes a part of the time, and leaves some of that. */
export function memoryHeld(flavor: "last-resort" | "regular" = "last-resort"): MemoryHeld {
  collectGarbage({ type: "major", execution: "sync", flavor });
  const { rss, heapUsed, external } = process.memoryUsage();
  return { residentBytes: rss, usedBytes: heapUsed + external };
}

/** Growth by either measure: a leak shows in both, memory that the allocator has not given back only in the first. */
export function growthOf(before: MemoryHeld, after: MemoryHeld): number {
  return Math.max(after.residentBytes - before.residentBytes, after.usedBytes - before.usedBytes);
}
