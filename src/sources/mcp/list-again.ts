import { after, cancel, monotonic, type Timer } from "../../base/index.ts";

/**
 * Time from a change of a server's list to its reading, in milliseconds. It is at least `perReading` times the time of the
 * last reading, and doubles, up to a minute, while the server reports changes again and again.
 */
const LIST_AGAIN_MS = { least: 1000, most: 60_000, perReading: 20 } as const;

/** Decides when a list is read again: its server may report changes at any time, and as often as it likes. */
export class ListAgain {
  readonly #read: () => Promise<void>;
  #timer: Timer | undefined;
  #isStale = false;
  #isStopped = false;
  /** Wait before the next reading, and when the last reading ended. */
  #waitMs: number = LIST_AGAIN_MS.least;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(read: () => Promise<void>) {
    this.#read = read;
  }

  notify(): void {
    this.#isStale = true;
    if (this.#timer || this.#isStopped) return;
    const { least, most, perReading } = LIST_AGAIN_MS;
    if (monotonic() - this.#readAt > 2 * this.#waitMs) this.#waitMs = least;
    this.#timer = after(this.#waitMs, () => {
      this.#isStale = false;
      const startedAt = monotonic();
      void this.#read().finally(() => {
        this.#timer = undefined;
        this.#readAt = monotonic();
        this.#waitMs = Math.min(most, Math.max(2 * this.#waitMs, perReading * (this.#readAt - startedAt)));
        // The list has changed again while it was read.
        if (this.#isStale) this.notify();
      });
    });
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    cancel(this.#timer);
  }
}
