import { isDeepStrictEqual } from "node:util";
import { after, cancel, countable, now, PortcullisError, type Timer } from "../base/index.ts";
import { keyRevoked } from "../conversations/index.ts";
import type { Owner } from "../journal/record.ts";
import type { OwnerNow } from "../executions/scope.ts";
import type { Runtime } from "../runtime/create-runtime.ts";
import { isExpiredKey, type Key, type Keys, keyRing } from "./http/keys.ts";
import { OWN_IDS, TOKEN_ID } from "./principal.ts";
import { runtimeFor } from "./runtime-for.ts";

/** What a key that holds has. */
interface Held {
  /** Ends all that the key has under way once it holds no more. */
  readonly end: AbortController;
  readonly runtime: Runtime;
  readonly ofGateway: Runtime;
  expiry: Timer | undefined;
}

const REVOKED = AbortSignal.abort(keyRevoked());
const NEVER = new AbortController().signal;

export type CurrentKeys = ReturnType<typeof currentKeys>;

/**
 * The keys that hold now, with the runtime of each, and the one signal that ends what it has under way. `storedMs`: how long
 * answers are kept that clients of the gateway have asked to be stored. `onRevoked` is told of a key that holds no more, once
 * its signal is aborted. Throws `option_invalid` for a key with an unknown tool or too wide a limit.
 */
export function currentKeys(first: Keys, server: Runtime, storedMs: number, onRevoked: (key: Key) => void) {
  const helds = new WeakMap<Key, Held>();
  let keys = first;
  const signalOf = (key: Key): AbortSignal => helds.get(key)?.end.signal ?? REVOKED;
  const now = (owner: Owner | undefined, tenant: string) => ownerNow(keys, signalOf, server, owner, tenant);
  const runtime = server.derive({}, { owners: { now } });
  const hold = (key: Key) => {
    const before = keys.get(key.id);
    const was = before && helds.get(before);
    const goesOn = was && !was.end.signal.aborted && isDeepStrictEqual(authorityOf(before), authorityOf(key));
    const held = goesOn ? was : newHeld(runtime, key, storedMs);
    helds.set(key, held);
    cancel(held.expiry);
    if (held === was || !isExpiredKey(key)) expire(key, held, onRevoked);
    else held.end.abort(keyRevoked());
  };
  const put = (next: Keys) => {
    const before = keys;
    keys = next;
    const nextHelds = new Set(next.all.map((key) => helds.get(key)));
    for (const key of before.all) {
      const was = helds.get(key);
      if (was && !nextHelds.has(was) && !was.end.signal.aborted) endKey(key, was, onRevoked);
    }
  };
  keys.all.forEach(hold);
  return {
    /** The server's own runtime: it drives what it did not begin by what the journals and the keys say. */
    runtime,
    now,
    current: () => keys,
    /** Aborted with `key_revoked` for a key that holds no more. */
    signalOf,
    /** The runtime with the tools and the limits of a key. Throws `key_revoked` for a key that holds no more. */
    runtimeOf(key: Key, surface?: Owner["surface"]): Runtime {
      const held = helds.get(key);
      if (!held || held.end.signal.aborted) throw keyRevoked();
      return surface ? held.ofGateway : held.runtime;
    },
    /** Puts keys in place of the former ones, and ends what those had under way that do not hold any more. Throws as `currentKeys`. */
    replace(next: Keys): void {
      next.all.forEach(hold);
      put(next);
    },
    /** Ends all other keys: what is invalid about a new key must not keep a revoked one in use. */
    keep: (isLeft: (key: Key) => boolean) => put(keyRing(keys.all.filter(isLeft))),
    /** Begins no more timers for keys that expire. */
    [Symbol.dispose]: () => keys.all.forEach((key) => cancel(helds.get(key)?.expiry)),
  };
}

function ownerNow(
  keys: Keys,
  signalOf: (key: Key) => AbortSignal,
  server: Runtime,
  owner: Owner | undefined,
  tenant: string,
): OwnerNow {
  const key = owner && keys.get(owner.key);
  if (key?.tenant === tenant) return { ...key, signal: signalOf(key) };
  const hasToken = keys.get(TOKEN_ID) !== undefined;
  // The only client of a server without keys may do all that the host may, and the servers of a fleet drive what its hosts
  // submit. Keys may do less.
  const isHosts = hasToken || server.fleet !== undefined || !keys.tenants.has(tenant);
  if (!owner && isHosts) return { signal: NEVER };
  if (owner && !hasToken && !OWN_IDS.has(owner.key)) return { signal: REVOKED };
  throw new PortcullisError(
    "execution_driven",
    "Code of the host or another server has begun this execution, and only that drives it: ask there.",
  );
}

function newHeld(runtime: Runtime, key: Key, storedMs: number): Held {
  const end = new AbortController();
  const ofGateway = runtimeFor(runtime, key, end.signal, { surface: "gateway", storedMs });
  return { end, runtime: runtimeFor(runtime, key, end.signal), ofGateway, expiry: undefined };
}

function expire(key: Key, held: Held, onRevoked: (key: Key) => void): void {
  if (key.expires === undefined) return;
  const remaining = Date.parse(key.expires) - now();
  if (remaining <= 0) endKey(key, held, onRevoked);
  else held.expiry = after(countable(remaining), () => expire(key, held, onRevoked)).unref();
}

function endKey(key: Key, { end, expiry }: Held, onRevoked: (key: Key) => void): void {
  cancel(expiry);
  end.abort(keyRevoked());
  onRevoked(key);
}

/** What a key may do, and the secret by which it is known: if no more changes, what it has under way goes on. */
function authorityOf({ id, tenant, digest, scopes, allowedCallers, tools, limits }: Key) {
  return { id, tenant, digest, scopes, allowedCallers, tools, limits };
}
