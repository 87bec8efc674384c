import { readingsAtOnce } from "../journal/reading/index.ts";
import { defaultHeldBytes, Places } from "../base/index.ts";
import { RequestProblem } from "./http/problems.ts";

/** Readings at once of one key. */
const OWN = 2;
/** Maximum of waiting readings of one key. The waiting readings of all keys are bounded by the bytes of their requests. */
const WAITING = 1000;

/**
 * Lets only a few requests at once read journals, keys in turn, as many as the memory allows: what is answered may be as
 * large as the open calls of an execution, and its value.
 */
export class Readings {
  readonly #places: Places;

  constructor(most = readingsAtOnce(defaultHeldBytes())) {
    this.#places = new Places({ atOnce: most, perTenant: Math.max(1, Math.min(OWN, Math.floor(most / 2))) });
  }

  /** Rejects with a `RequestProblem` if too many readings of the key wait, or the client has left meanwhile. */
  async run<Value>(key: string, signal: AbortSignal | undefined, read: () => Value | Promise<Value>): Promise<Value> {
    if (this.#places.waitingOf(key) >= WAITING)
      throw new RequestProblem(
        "too_many_at_once",
        "This key reads too much at once: wait for its answers, then try again.",
      );
    const release = await this.#places.take(key, signal);
    try {
      if (!release || signal?.aborted) throw new RequestProblem("request_invalid", "The client has left.");
      return await read();
    } finally {
      release?.();
    }
  }
}
