import { monotonic } from "../../clock.ts";
import type { Rate } from "./keys.ts";

interface Bucket {
  /** Requests that may be made now. */
  left: number;
  at: number;
}

/** Limits the requests of keys. Unused requests add up to `calls` (a token bucket). */
export class Rates {
  readonly #buckets = new Map<string, Bucket>();

  /** Takes one request of a key; returns the seconds to wait if it may make none. */
  take(id: string, { calls, perMs }: Rate): number | undefined {
    const now = monotonic();
    const bucket = this.#buckets.get(id) ?? { left: calls, at: now };
    this.#buckets.set(id, bucket);
    bucket.left = Math.min(calls, bucket.left + ((now - bucket.at) * calls) / perMs);
    bucket.at = now;
    if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * perMs) / calls / 1000);
    bucket.left -= 1;
    return undefined;
  }
}
