import { Counts } from "../../base/index.ts";
import { RequestProblem } from "./problems.ts";

const MIB = 1024 * 1024;

export interface BytesByKeyOptions {
  /** Maximum of bytes of one key, and of all. */
  readonly own: number;
  readonly all: number;
  /** Bytes that each thing counts at least. */
  readonly each: number;
}

/** Of requests and answers under way. */
const REQUESTS: BytesByKeyOptions = { own: 80 * MIB, all: 256 * MIB, each: 16 * 1024 };

/** Counts the open requests of keys, each as one. A key alone may have half as many as there are connections. */
export function requestsByKey(connections: number): BytesByKey {
  const all = Math.max(connections, FEWEST_REQUESTS);
  return new BytesByKey({ own: all, all, each: 1 });
}

/** Where there are few connections, they bound the requests. */
const FEWEST_REQUESTS = 256;

/**
 * Counts the bytes that things of clients hold: by default requests, from their beginning until their answers are read, with
 * slow bodies and slowly read answers.
 */
export class BytesByKey {
  readonly #options: BytesByKeyOptions;
  readonly #held = new Counts();

  constructor(options = REQUESTS) {
    this.#options = options;
  }

  /** Whether a key could take this many bytes if nothing else were taken. */
  canHold(bytes: number): boolean {
    const { own, each } = this.#options;
    return bytes + each <= own;
  }

  /**
   * Takes bytes for a key, and `each` more. Returns the function that releases them; undefined if too many are taken.
   */
  begin(key: string, bytes: number, each = this.#options.each): (() => void) | undefined {
    const { own, all } = this.#options;
    const taken = bytes + each;
    // A key holds no more than it leaves free, so that the next key always finds some.
    return this.#held.take(key, taken, Math.min(own, all - this.#held.all - taken));
  }

  /** Like `begin`, but throws a `RequestProblem` if too many are taken. `advice` says how its client can make room. */
  hold(key: string, bytes: number, advice: string): () => void {
    const release = this.begin(key, bytes);
    if (release) return release;
    throw new RequestProblem(
      "too_many_at_once",
      `The open requests of this key, and what they have begun, hold too many bytes: ${advice}, then try again.`,
    );
  }
}
