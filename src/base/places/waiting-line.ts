import { monotonic } from "../clock.ts";

const NONE: ReadonlyMap<string, number> = new Map();

/** How long a program that has begun lets others of its tenant begin before it, in milliseconds. */
export const BEGUN_WAITS_MS = 3000;

export function countNames(names: Iterable<string | undefined>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** What waits in a line: a program, an execution, a call or a reading. */
export interface InLine {
  readonly tenant: string;
  /**
   * Whether it is a program that has begun already, and gave up its engine or container. The number of begun programs is
   * not bounded here.
   */
  readonly hasBegun?: boolean;
}

/** A waiter, linked to the waiters that came before and after it. */
interface Link<Waiter> {
  readonly waiter: Waiter;
  readonly since: number;
  before: Link<Waiter> | undefined;
  after: Link<Waiter> | undefined;
}

/** Waiters in order of arrival. Any of thousands leaves at once: they may all leave in one turn of the event loop. */
class Arrivals<Waiter> {
  first: Link<Waiter> | undefined;
  last: Link<Waiter> | undefined;
  length = 0;

  add(waiter: Waiter): Link<Waiter> {
    const link = { waiter, since: monotonic(), before: this.last, after: undefined };
    if (this.last) this.last.after = link;
    else this.first = link;
    this.last = link;
    this.length += 1;
    return link;
  }

  remove({ before, after }: Link<Waiter>): void {
    if (before) before.after = after;
    else this.first = after;
    if (after) after.before = before;
    else this.last = before;
    this.length -= 1;
  }
}

interface OwnLine<Waiter> {
  readonly begun: Arrivals<Waiter>;
  readonly fresh: Arrivals<Waiter>;
}

const waitedMs = ({ since }: Link<unknown>): number => monotonic() - since;
const lengthOf = ({ begun, fresh }: OwnLine<unknown>): number => begun.length + fresh.length;

/**
 * Programs that wait for an engine or a container, each kind in order of arrival. Within a tenant, new programs come
 * first, so that many programs soon wait for their tools at the same time. Once a begun program has waited for
 * `BEGUN_WAITS_MS`, it comes first. Across tenants, the tenant with the fewest engines or containers is next; among
 * equals, the tenant that has waited longest since it last had one.
 */
export class WaitingLine<Waiter extends InLine> {
  readonly #maxLength: number;
  readonly #perTenant: number;
  readonly #shared: number;
  /** Only tenants with waiting programs. The tenant that last had an engine or a place comes last. */
  readonly #byTenant = new Map<string, OwnLine<Waiter>>();
  readonly #links = new Map<Waiter, Link<Waiter>>();
  /** Waiters that have not begun. */
  #fresh = 0;

  /**
   * `maxLength` is how many programs may wait at once, and `perTenant` how many engines or containers a tenant may have. While
   * tenants hold `shared` of them together, only those that have none may have another.
   */
  constructor(maxLength = Infinity, perTenant = Infinity, shared = Infinity) {
    this.#maxLength = maxLength;
    this.#perTenant = perTenant;
    this.#shared = shared;
  }

  mayHave(tenant: string, held: ReadonlyMap<string, number>): boolean {
    const has = held.get(tenant) ?? 0;
    if (has === 0 || this.#shared === Infinity) return has < this.#perTenant;
    return has < this.#perTenant && held.values().reduce((sum, one) => sum + one, 0) < this.#shared;
  }

  /** A tenant has given an engine or a place back: the others that have as many come before its next waiter. */
  comesLast(tenant: string): void {
    const own = this.#byTenant.get(tenant);
    if (!own) return;
    this.#byTenant.delete(tenant);
    this.#byTenant.set(tenant, own);
  }

  get length(): number {
    return this.#links.size;
  }

  lengthOf(tenant: string): number {
    const own = this.#byTenant.get(tenant);
    return own ? lengthOf(own) : 0;
  }

  /**
   * Adds a waiter behind the others of its tenant and kind. If the line is full, and the waiter has not begun, the
   * tenant with the most waiters that have not begun loses the last of them, which is returned and may be `waiter`. So a
   * tenant cannot fill the line for the others.
   */
  add(waiter: Waiter): Waiter | undefined {
    const own = this.#byTenant.get(waiter.tenant) ?? { begun: new Arrivals(), fresh: new Arrivals() };
    const isFull = waiter.hasBegun !== true && this.#fresh >= this.#maxLength;
    const removed = isFull ? this.#makeRoom(waiter, own) : undefined;
    if (removed === waiter) return removed;
    this.#byTenant.set(waiter.tenant, own);
    this.#links.set(waiter, this.#kindOf(own, waiter).add(waiter));
    if (waiter.hasBegun !== true) this.#fresh += 1;
    return removed;
  }

  /** Removes a waiter and returns it: `waiter` itself, if its tenant has the most. */
  #makeRoom(waiter: Waiter, own: OwnLine<Waiter>): Waiter {
    const longest = [...this.#byTenant.values()].reduce(
      (one, other) => (other.fresh.length > one.fresh.length ? other : one),
      own,
    );
    const removed = longest.fresh.length > own.fresh.length + 1 ? longest.fresh.last?.waiter : undefined;
    if (removed) this.remove(removed);
    return removed ?? waiter;
  }

  remove(waiter: Waiter): void {
    const own = this.#byTenant.get(waiter.tenant);
    const link = this.#links.get(waiter);
    if (!own || !link) return;
    this.#kindOf(own, waiter).remove(link);
    this.#links.delete(waiter);
    if (waiter.hasBegun !== true) this.#fresh -= 1;
    if (lengthOf(own) === 0) this.#byTenant.delete(waiter.tenant);
  }

  #kindOf({ begun, fresh }: OwnLine<Waiter>, { hasBegun }: Waiter): Arrivals<Waiter> {
    return hasBegun === true ? begun : fresh;
  }

  /** Returns the first of a tenant's waiters and leaves it in the line. */
  first(tenant: string | undefined): Waiter | undefined {
    const own = tenant === undefined ? undefined : this.#byTenant.get(tenant);
    const begun = own?.begun.first;
    const fresh = own?.fresh.first;
    if (!begun || !fresh) return (begun ?? fresh)?.waiter;
    return (waitedMs(begun) < BEGUN_WAITS_MS ? fresh : begun).waiter;
  }

  /** How many of a tenant's waiters have waited for `ms`. Counts no further than `most`. */
  countWaited(tenant: string, ms: number, most: number): number {
    const { begun, fresh } = this.#byTenant.get(tenant) ?? {};
    let count = 0;
    for (let link of [begun?.first, fresh?.first])
      for (; link && count < most && waitedMs(link) >= ms; link = link.after) count += 1;
    return count;
  }

  take(tenant: string): Waiter | undefined {
    const waiter = this.first(tenant);
    if (!waiter) return undefined;
    this.remove(waiter);
    this.comesLast(tenant);
    return waiter;
  }

  /** How many waiting programs may have an engine, and have none coming. `held` and `coming` as for `next`. */
  unserved(held: ReadonlyMap<string, number>, coming = NONE): number {
    let unserved = 0;
    for (const [tenant, own] of this.#byTenant) {
      const mayHave = this.#perTenant - (held.get(tenant) ?? 0);
      unserved += Math.max(0, Math.min(lengthOf(own) - (coming.get(tenant) ?? 0), mayHave));
    }
    return unserved;
  }

  /** The tenants with waiters for which nothing is coming, in order of their engines or containers: the fewest first. */
  wanting(held: ReadonlyMap<string, number>, coming = NONE): readonly string[] {
    const wanting: string[] = [];
    for (const [tenant, own] of this.#byTenant) if (lengthOf(own) > (coming.get(tenant) ?? 0)) wanting.push(tenant);
    return wanting.length < 2
      ? wanting
      : wanting.toSorted((one, other) => (held.get(one) ?? 0) - (held.get(other) ?? 0));
  }

  /** How many engines or containers a tenant has if it may lose one to a program of `tenant`: to its own, and to one that has fewer. Otherwise 0. */
  losable(tenant: string, other: string, held: ReadonlyMap<string, number>): number {
    const has = held.get(other) ?? 0;
    const own = held.get(tenant) ?? 0;
    return other === tenant || (own < this.#perTenant && has > own) ? has : 0;
  }

  /**
   * Returns the tenant that is served next, of the tenants with fewer engines than they may have. `held` counts each
   * tenant's engines, coming ones included; `coming` counts only the coming ones. The tenant `keeps` has just released
   * an engine. While it has waiters it keeps that engine, unless the next tenant has none, or fewer than `keeps` has.
   */
  next(held = NONE, coming = NONE, keeps?: string): string | undefined {
    let best: string | undefined;
    let fewest = Infinity;
    for (const [tenant, own] of this.#byTenant) {
      const has = held.get(tenant) ?? 0;
      if (!this.mayHave(tenant, held) || lengthOf(own) <= (coming.get(tenant) ?? 0)) continue;
      if (has < fewest) {
        best = tenant;
        fewest = has;
      }
      if (fewest === 0) break;
    }
    if (keeps === undefined || best === undefined || fewest === 0 || !this.#byTenant.has(keeps)) return best;
    return (held.get(keeps) ?? 0) <= fewest ? keeps : best;
  }

  clear(): readonly Waiter[] {
    const waiters = [...this.#links.keys()];
    this.#byTenant.clear();
    this.#links.clear();
    this.#fresh = 0;
    return waiters;
  }
}

export interface Rate {
  readonly calls: number;
  readonly perMs: number;
}

/** Bounds that hold over processes together, by key. What waits while their store cannot be reached goes on with it. */
export interface SharedLimits {
  /** Runs a function while it has one of `most` places. Rejects with the signal's reason if it is aborted first. */
  run<Value>(key: string, most: number, run: () => Promise<Value>, signal: AbortSignal): Promise<Value>;
  /** Resolves when one more may start. Rejects with the signal's reason if it is aborted first. */
  start(key: string, rate: Rate, signal: AbortSignal): Promise<void>;
}
