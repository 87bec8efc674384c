import { monotonic } from "../../clock.ts";
import type { Rate } from "./keys.ts";

interface Bucket {
  /** Requests that may be made now. */
  left: number;
  at: number;
}

/** How a key stands with its rate. */
export interface RateLeft {
  /** Requests that it may make at once when it has made none for long. */
  readonly limit: number;
  /** Requests that it may make now. */
  readonly remaining: number;
  /** Milliseconds until it may make `limit` requests again, if it makes none. */
  readonly resetMs: number;
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

  /** How a key stands, without taking a request of it. */
  left(id: string, { calls, perMs }: Rate): RateLeft {
    const now = monotonic();
    const { left, at } = this.#buckets.get(id) ?? { left: calls, at: now };
    const whole = Math.min(calls, left + ((now - at) * calls) / perMs);
    return { limit: calls, remaining: Math.floor(whole), resetMs: Math.ceil(((calls - whole) * perMs) / calls) };
  }
}
