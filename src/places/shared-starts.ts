import { randomUUID } from "node:crypto";
import { monotonic, pause } from "../clock.ts";
import { takeStarts } from "./shared-counts.ts";
import type { SharedState } from "./shared-state.ts";
import { Waiters } from "./waiters.ts";

/** Wait before a store is asked again that could not be reached, in milliseconds. */
const RETRY_MS = 500;
/** How long starts that were given may be used: a part of the span that they are counted in, and no longer than this, in milliseconds. */
const [USABLE_PART, MOST_USABLE_MS] = [0.1, 1000];

export interface Rate {
  readonly calls: number;
  readonly perMs: number;
}

/**
 * Starts of which several processes have so many together in each span of time. A process is given some at once, as many as it
 * used of the last ones, so that most starts ask no store.
 */
export class SharedStarts {
  readonly #state: SharedState;
  readonly #key: string;
  readonly #rate: Rate;
  readonly #usableMs: number;
  readonly #waiters = new Waiters();
  #given = { id: "", starts: 0, left: 0, until: 0 };
  #isAsking = false;

  constructor(state: SharedState, key: string, rate: Rate) {
    this.#state = state;
    this.#key = key;
    this.#rate = rate;
    this.#usableMs = Math.max(1, Math.min(rate.perMs * USABLE_PART, MOST_USABLE_MS));
  }

  /** Resolves when one more may start. Rejects with the signal's reason if it is aborted first. */
  async take(signal: AbortSignal): Promise<void> {
    if (this.#waiters.count === 0 && this.#use()) return;
    const waiting = this.#waiters.wait(signal);
    this.#ask();
    return waiting;
  }

  #use(): boolean {
    if (this.#given.left === 0 || monotonic() >= this.#given.until) return false;
    this.#given.left -= 1;
    return true;
  }

  #ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    void this.#askUntilDone().finally(() => {
      this.#isAsking = false;
    });
  }

  async #askUntilDone(): Promise<void> {
    while (this.#waiters.count > 0) {
      const waitMs = await this.#more().catch(() => RETRY_MS);
      while (this.#waiters.count > 0 && this.#use()) this.#waiters.next();
      if (this.#waiters.count > 0) await pause(waitMs);
    }
  }

  /** Resolves with the time after which there may be more. */
  async #more(): Promise<number> {
    const { calls: most, perMs } = this.#rate;
    const { id, starts, left } = this.#given;
    const ahead = Math.min(Math.floor(most * USABLE_PART), starts - left);
    const wants = this.#waiters.count + Math.max(0, ahead);
    const unused = left > 0 ? { id, starts: left } : undefined;
    // Not to be used any more, whatever becomes of the question.
    this.#given.left = 0;
    const asked = { id: randomUUID(), most, perMs, usableMs: this.#usableMs, wants, unused };
    // What is given may be used from now on at most: the answer may be late.
    const begun = monotonic();
    const given = await this.#state.update(this.#key, (state: Parameters<typeof takeStarts>[0], now) =>
      takeStarts(state, asked, now),
    );
    this.#given = { id: asked.id, starts: given.starts, left: given.starts, until: begun + this.#usableMs };
    return given.starts > 0 ? 1 : given.waitMs;
  }
}
