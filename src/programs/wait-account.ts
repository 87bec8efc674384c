/**
 * What a program has earned by waiting, and spends on its replays in other guests. All times in milliseconds. A program that
 * has waited long is likely to wait long again, so it need not wait once more in its guest for as long as its next replay
 * takes.
 */
export class WaitAccount {
  #since: number | undefined;
  /** The last wait, and all that are over. */
  #lastMs = 0;
  #allMs = 0;
  #spentMs = 0;

  /** The program begins to wait, if it does not wait already. */
  begin(): void {
    this.#since ??= performance.now();
  }

  /** The program has something to do. */
  end(): void {
    if (this.#since === undefined) return;
    this.#lastMs = performance.now() - this.#since;
    this.#allMs += this.#lastMs;
    this.#since = undefined;
  }

  /** A change of guests has taken so much processor time, beside the replay. */
  spend(ms: number): void {
    this.#spentMs += ms;
  }

  /** What is left of the time that the program has waited, but no more than its last wait. `replayingMs` is what all replays have taken. */
  earnedMs(replayingMs: number): number {
    return Math.max(0, Math.min(this.#lastMs, this.#allMs - this.#spentMs - replayingMs));
  }
}
