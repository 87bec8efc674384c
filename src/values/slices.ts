import { setImmediate as othersTurn } from "node:timers/promises";

/** Time that one piece of work may hold the host's thread before others get it, in milliseconds. */
const SLICE_MS = 5;

/** Cuts work that an attacker can make long into slices, between which everything else in the host goes on. */
export class Slices {
  #leftMs = SLICE_MS;
  #since = performance.now();

  /** Whether others should get the thread now. */
  get due(): boolean {
    return performance.now() - this.#since >= this.#leftMs;
  }

  /** Lets all others run that are ready to. */
  async yield(): Promise<void> {
    await othersTurn();
    this.#leftMs = SLICE_MS;
    this.#since = performance.now();
  }

  /** Stops counting, for work that comes in pieces: many short ones add up to a long one. */
  pause(): void {
    this.#leftMs -= performance.now() - this.#since;
  }

  resume(): void {
    this.#since = performance.now();
  }
}
