import { isDeepStrictEqual } from "node:util";
import { after, cancel, countable, now, PortcullisError, type Timer } from "../base/index.ts";
import { keyRevoked } from "../conversations/index.ts";
import type { Owner } from "../journal/record.ts";
import type { OwnerNow, Owners } from "../executions/scope.ts";
import type { Runtime } from "../runtime/create-runtime.ts";
import { isExpired, type Key, Keys } from "./http/keys.ts";
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

/** The keys that hold now, with the runtime of each, and the one signal that ends what it has under way. */
export class CurrentKeys implements Owners {
  /** The server's own runtime: it drives what it did not begin by what the journals and the keys say. */
  readonly runtime: Runtime;
  /** Told of a key that holds no more, once its signal is aborted. */
  readonly #onRevoked: (key: Key) => void;
  readonly #held = new WeakMap<Key, Held>();
  /** How long answers are kept that clients of the gateway have asked to be stored, in milliseconds. */
  readonly #storedMs: number;
  #keys: Keys;

  /** Throws `option_invalid` for a key with an unknown tool or too wide a limit. */
  constructor(keys: Keys, runtime: Runtime, storedMs: number, onRevoked: (key: Key) => void) {
    this.#storedMs = storedMs;
    this.#keys = keys;
    this.#onRevoked = onRevoked;
    this.runtime = runtime.derive({}, { owners: this });
    for (const key of keys.all) this.#hold(key, undefined);
  }

  get keys(): Keys {
    return this.#keys;
  }

  /** Aborted with `key_revoked` for a key that holds no more. */
  signalOf(key: Key): AbortSignal {
    return this.#held.get(key)?.end.signal ?? REVOKED;
  }

  /** The runtime with the tools and the limits of a key. Throws `key_revoked` for a key that holds no more. */
  runtimeOf(key: Key, surface?: Owner["surface"]): Runtime {
    const held = this.#held.get(key);
    if (!held || held.end.signal.aborted) throw keyRevoked();
    return surface ? held.ofGateway : held.runtime;
  }

  now(owner: Owner | undefined, tenant: string): OwnerNow {
    const keys = this.#keys;
    const key = owner && keys.get(owner.key);
    if (key?.tenant === tenant) return { ...key, signal: this.signalOf(key) };
    const hasToken = keys.get(TOKEN_ID) !== undefined;
    // The only client of a server without keys may do all that the host may, and the servers of a fleet drive what its hosts
    // submit. Keys may do less.
    const isHosts = hasToken || this.runtime.fleet !== undefined || !keys.tenants.has(tenant);
    if (!owner && isHosts) return { signal: NEVER };
    if (owner && !hasToken && !OWN_IDS.has(owner.key)) return { signal: REVOKED };
    throw new PortcullisError(
      "execution_driven",
      "Code of the host or another server has begun this execution, and only that drives it: ask there.",
    );
  }

  /** Puts keys in place of the former ones, and ends what those had under way that do not hold any more. Throws as the constructor. */
  replace(keys: Keys): void {
    const before = this.#keys;
    for (const key of keys.all) this.#hold(key, before.get(key.id));
    this.#put(keys);
  }

  /** Ends all other keys: what is invalid about a new key must not keep a revoked one in use. */
  keep(isLeft: (key: Key) => boolean): void {
    this.#put(new Keys(this.#keys.all.filter(isLeft)));
  }

  #put(keys: Keys): void {
    const before = this.#keys;
    this.#keys = keys;
    const held = new Set(this.#keys.all.map((key) => this.#held.get(key)));
    for (const key of before.all) {
      const was = this.#held.get(key);
      if (was && !held.has(was) && !was.end.signal.aborted) this.#end(key, was);
    }
  }

  /** Begins no more timers for keys that expire. */
  [Symbol.dispose](): void {
    for (const key of this.#keys.all) cancel(this.#held.get(key)?.expiry);
  }

  #hold(key: Key, before: Key | undefined): void {
    const was = before && this.#held.get(before);
    const goesOn = was && !was.end.signal.aborted && isDeepStrictEqual(authorityOf(before), authorityOf(key));
    const held: Held = goesOn ? was : this.#heldOf(key);
    this.#held.set(key, held);
    cancel(held.expiry);
    if (held === was || !isExpired(key)) this.#expire(key, held);
    else held.end.abort(keyRevoked());
  }

  #heldOf(key: Key): Held {
    const end = new AbortController();
    const runtime = runtimeFor(this.runtime, key, end.signal);
    const ofGateway = { surface: "gateway", storedMs: this.#storedMs } as const;
    return { end, runtime, ofGateway: runtimeFor(this.runtime, key, end.signal, ofGateway), expiry: undefined };
  }

  #expire(key: Key, held: Held): void {
    if (key.expires === undefined) return;
    const left = Date.parse(key.expires) - now();
    if (left <= 0) this.#end(key, held);
    else held.expiry = after(countable(left), () => this.#expire(key, held)).unref();
  }

  #end(key: Key, { end, expiry }: Held): void {
    cancel(expiry);
    end.abort(keyRevoked());
    this.#onRevoked(key);
  }
}

/** What a key may do, and the secret by which it is known: if no more changes, what it has under way goes on. */
function authorityOf({ id, tenant, digest, scopes, allowedCallers, tools, limits }: Key) {
  return { id, tenant, digest, scopes, allowedCallers, tools, limits };
}
