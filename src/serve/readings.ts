import { RequestProblem } from "./http/problems.ts";

/** Readings at once, of one key and of all keys. The size of a journal is not known before it is read. */
const OWN = 2;
const ALL = 8;
/** Maximum of waiting readings of one key. */
const WAITING = 1000;

/** Lets only a few requests at once read journals, keys in turn: an execution may have some hundred megabytes. */
export class Readings {
  readonly #running = new Map<string, number>();
  /** Starts of waiting readings. The key whose turn is next comes first. */
  readonly #waiting = new Map<string, readonly (() => void)[]>();
  #all = 0;

  /** Rejects with a `RequestProblem` if too many readings of the key wait, or the client has left meanwhile. */
  async run<Value>(key: string, signal: AbortSignal | undefined, read: () => Value | Promise<Value>): Promise<Value> {
    await this.#turn(key);
    try {
      if (signal?.aborted) throw new RequestProblem("request_invalid", "The client has left.");
      return await read();
    } finally {
      this.#end(key);
    }
  }

  #turn(key: string): Promise<void> | undefined {
    if (this.#all < ALL && this.#runningOf(key) < OWN) return this.#begin(key);
    const waiting = this.#waiting.get(key) ?? [];
    if (waiting.length >= WAITING)
      throw new RequestProblem(
        "too_many_at_once",
        "This key reads too much at once: wait for its answers, then try again.",
      );
    return new Promise((resolve) => void this.#waiting.set(key, [...waiting, resolve]));
  }

  #begin(key: string): undefined {
    this.#all += 1;
    this.#running.set(key, this.#runningOf(key) + 1);
  }

  #end(key: string): void {
    this.#all -= 1;
    const left = this.#runningOf(key) - 1;
    if (left > 0) this.#running.set(key, left);
    else this.#running.delete(key);
    this.#startNext();
  }

  #startNext(): void {
    for (const [key, [start, ...others]] of this.#waiting) {
      if (!start || this.#runningOf(key) >= OWN) continue;
      this.#waiting.delete(key);
      if (others.length > 0) this.#waiting.set(key, others);
      this.#begin(key);
      return start();
    }
  }

  #runningOf(key: string): number {
    return this.#running.get(key) ?? 0;
  }
}
