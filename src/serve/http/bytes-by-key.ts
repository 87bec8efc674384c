import { Counts } from "../../base/index.ts";
import type { Principal } from "../principal.ts";
import { RequestProblem } from "./problems.ts";

const MIB = 1024 * 1024;

export interface BytesByKeyOptions {
  /** Maximum of bytes of one key, and of all. */
  readonly own: number;
  readonly all: number;
  /** Bytes that each thing counts at least. */
  readonly each: number;
}

export type BytesByKey = ReturnType<typeof bytesByKey>;

/** The key for which bytes are counted. */
export type Holder = Pick<Principal, "id" | "tenant">;

/** Of requests and answers under way. */
const REQUESTS: BytesByKeyOptions = { own: 80 * MIB, all: 256 * MIB, each: 16 * 1024 };

/** Counts the open requests of keys, each as one. A key alone may have half as many as there are connections. */
export function requestsByKey(connections: number): BytesByKey {
  const all = Math.max(connections, FEWEST_REQUESTS);
  return bytesByKey({ own: all, all, each: 1 });
}

/** Where there are few connections, they bound the requests. */
const FEWEST_REQUESTS = 256;

/**
 * Counts the bytes that things of clients hold: by default requests, from their beginning until their answers are read, with
 * slow bodies and slowly read answers.
 */
export function bytesByKey({ own, all, each: least } = REQUESTS) {
  const held = new Counts();
  const byTenant = new Counts();
  const begin = ({ id, tenant }: Holder, bytes: number, each = least): (() => void) | undefined => {
    const total = bytes + each;
    const ofTenant = byTenant.of(tenant);
    // A tenant holds three quarters of what others leave, and of these a key two thirds: the next tenant, and the tenant's
    // next key, always find some.
    const most = ((all - held.all + ofTenant) * 3) / 4;
    const release = held.take(id, total, Math.min(own, 2 * (most - ofTenant - total)));
    const releaseTenant = release && byTenant.take(tenant, total);
    return release && (() => (release(), releaseTenant?.()));
  };
  return {
    /** Takes bytes for a key, and `each` more. Returns the function that releases them; undefined if too many are taken. */
    begin,
    /** Whether a key could take this many bytes if nothing else were taken. */
    canHold: (bytes: number) => bytes + least <= own,
    /** Like `begin`, but throws a `RequestProblem` if too many are taken. `advice` says how its client can make room. */
    hold(key: Holder, bytes: number, advice: string): () => void {
      const release = begin(key, bytes);
      if (release) return release;
      throw new RequestProblem(
        "too_many_at_once",
        `The open requests of this key, and what they have begun, hold too many bytes: ${advice}, then try again.`,
      );
    },
  };
}
