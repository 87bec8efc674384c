import { monotonic } from "../../clock.ts";

/**
 * The time that a program has waited, and has spent on its replays in other guests, in milliseconds. A program that has
 * waited long is likely to wait long again, so it need not wait once more in its guest for as long as its next replay
 * takes.
 */
export class WaitAccount {
  #since: number | undefined;
  /** The last wait, and all past waits together. */
  #lastMs = 0;
  #allMs = 0;
  #spentMs = 0;
  /** All waits before the present guest was opened. */
  #beforeMs = 0;

  /** The program begins to wait, if it does not wait already. */
  begin(): void {
    this.#since ??= monotonic();
  }

  /** The program has something to do. */
  end(): void {
    if (this.#since === undefined) return;
    this.#lastMs = monotonic() - this.#since;
    this.#allMs += this.#lastMs;
    this.#since = undefined;
  }

  /** The program has another guest. */
  change(): void {
    this.#beforeMs = this.#allMs;
  }

  /** How long it has waited in its present guest, before this wait. */
  get inGuestMs(): number {
    return this.#allMs - this.#beforeMs;
  }

  /** A change of guests took this much processor time, beside the replay. */
  spend(ms: number): void {
    this.#spentMs += ms;
  }

  /** The waited time that no replay has used up, at most the last wait. `replayingMs` is the time of all replays. */
  earnedMs(replayingMs: number): number {
    return Math.max(0, Math.min(this.#lastMs, this.#allMs - this.#spentMs - replayingMs));
  }
}
