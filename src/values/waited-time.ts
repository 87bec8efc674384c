import { monotonic } from "../clock.ts";

/** Measures, by looks at short intervals, how long work waits for approvals or a locked journal. */
export class WaitedTime {
  #ms = 0;
  #waited = false;
  #lookedAt = 0;

  /** Milliseconds. The time between two looks counts if the work waited at both. */
  get ms(): number {
    return this.#ms;
  }

  look(waits: boolean): void {
    const now = monotonic();
    if (waits && this.#waited) this.#ms += now - this.#lookedAt;
    this.#waited = waits;
    this.#lookedAt = now;
  }
}
