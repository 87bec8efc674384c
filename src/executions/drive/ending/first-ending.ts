import { after, cancel, type Timer } from "../../../base/index.ts";
import type { Ending } from "../../outcome.ts";

/** The first ending that a driver comes to. A stop's ending is decided later: its program may still print. */
export class FirstEnding {
  readonly #told = Promise.withResolvers<Ending>();
  readonly told = this.#told.promise;
  /** The ending that takes effect after the program's final output. */
  stopping: Ending | undefined;
  isDecided = false;
  #soon: Timer | undefined;

  get isKnown(): boolean {
    return this.isDecided || this.stopping !== undefined;
  }

  /** Calls `end` once the time for final output is over, unless an ending is decided before. Replaces an earlier time. */
  after(ms: number, end: () => void): void {
    cancel(this.#soon);
    this.#soon = after(ms, end);
  }

  /** Decides the ending, and returns it; undefined if it was decided before. `tell` follows once it has taken effect. */
  decide(latest: Ending): Ending | undefined {
    if (this.isDecided) return undefined;
    this.isDecided = true;
    cancel(this.#soon);
    return this.stopping ?? latest;
  }

  tell(ending: Ending): void {
    this.#told.resolve(ending);
  }

  fail(error: unknown): void {
    this.#told.reject(error);
  }
}
