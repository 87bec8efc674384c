import { QueueFull } from "./sandbox.ts";

/** How long a program that has begun lets others of its tenant begin before it, in milliseconds. */
export const BEGUN_WAITS_MS = 3000;

/** Counts how often each name occurs. */
export function countNames(names: Iterable<string | undefined>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** A program that waits in a line. */
export interface InLine {
  readonly tenant: string;
  /**
   * Whether it has begun already, and gave up its engine or container. The number of begun programs is not bounded
   * here.
   */
  readonly hasBegun?: boolean;
  /** Called if the program is removed because the line is full or closed. */
  readonly reject: (error: unknown) => void;
}

/** The waiters of one tenant. */
interface OwnLine<Waiter> {
  readonly begun: Waiter[];
  readonly fresh: Waiter[];
}

const lengthOf = ({ begun, fresh }: OwnLine<unknown>): number => begun.length + fresh.length;

/**
 * Programs that wait for an engine or a container, each kind in order of arrival. Within a tenant, new programs come
 * first, until a begun one has waited for `BEGUN_WAITS_MS`: so many programs soon wait for their tools at the same
 * time, and no stream of new programs keeps a begun one waiting. Across tenants the one with the fewest engines or
 * containers is next; among equals, the one that was served longest ago.
 */
export class WaitingLine<Waiter extends InLine> {
  readonly #maxLength: number;
  readonly #perTenant: number;
  /** Only tenants with waiting programs. The tenant that was served last comes last. */
  readonly #byTenant = new Map<string, OwnLine<Waiter>>();
  #length = 0;
  readonly #since = new Map<Waiter, number>();
  /** Waiters that have not begun. */
  #fresh = 0;

  /** `maxLength` is how many programs may wait at once, `perTenant` how many engines or containers one tenant may have. */
  constructor(maxLength: number, perTenant = Number.POSITIVE_INFINITY) {
    this.#maxLength = maxLength;
    this.#perTenant = perTenant;
  }

  get length(): number {
    return this.#length;
  }

  /**
   * Adds a waiter behind the others of its tenant and kind. If the line is full, and the waiter has not begun, the last
   * waiter that has not begun of the tenant with the most of them, which may be this one, is rejected with a `QueueFull`:
   * one tenant cannot fill the line for the others.
   */
  add(waiter: Waiter): void {
    const own = this.#byTenant.get(waiter.tenant) ?? { begun: [], fresh: [] };
    if (waiter.hasBegun !== true && this.#fresh >= this.#maxLength && !this.#makeRoom(waiter, own)) return;
    this.#byTenant.set(waiter.tenant, own);
    this.#kindOf(own, waiter).push(waiter);
    this.#length += 1;
    this.#since.set(waiter, performance.now());
    if (waiter.hasBegun !== true) this.#fresh += 1;
  }

  /** Rejects a waiter, and returns whether it was another one. */
  #makeRoom(waiter: Waiter, own: OwnLine<Waiter>): boolean {
    const longest = [...this.#byTenant.values()].reduce(
      (one, other) => (other.fresh.length > one.fresh.length ? other : one),
      own,
    );
    const removed = longest.fresh.length > own.fresh.length + 1 ? longest.fresh.at(-1) : undefined;
    if (removed) this.remove(removed);
    (removed ?? waiter).reject(new QueueFull(this.#maxLength));
    return removed !== undefined;
  }

  /** Removes a waiter, if it is in the line. */
  remove(waiter: Waiter): void {
    const own = this.#byTenant.get(waiter.tenant);
    if (!own) return;
    const kind = this.#kindOf(own, waiter);
    const index = kind.indexOf(waiter);
    if (index < 0) return;
    kind.splice(index, 1);
    this.#length -= 1;
    this.#since.delete(waiter);
    if (waiter.hasBegun !== true) this.#fresh -= 1;
    if (lengthOf(own) === 0) this.#byTenant.delete(waiter.tenant);
  }

  #kindOf({ begun, fresh }: OwnLine<Waiter>, { hasBegun }: Waiter): Waiter[] {
    return hasBegun === true ? begun : fresh;
  }

  /** Returns the first of a tenant's waiters and leaves it in the line. */
  first(tenant: string | undefined): Waiter | undefined {
    const own = tenant === undefined ? undefined : this.#byTenant.get(tenant);
    const [begun] = own?.begun ?? [];
    const [fresh] = own?.fresh ?? [];
    if (!begun || !fresh) return begun ?? fresh;
    return this.#waitedMs(begun) < BEGUN_WAITS_MS ? fresh : begun;
  }

  /** How many of a tenant's waiters have waited for `ms`. Counts no further than `most`. */
  countWaited(tenant: string, ms: number, most: number): number {
    const { begun = [], fresh = [] } = this.#byTenant.get(tenant) ?? {};
    let count = 0;
    for (const kind of [begun, fresh])
      for (const waiter of kind) {
        if (count === most || this.#waitedMs(waiter) < ms) break;
        count += 1;
      }
    return count;
  }

  #waitedMs(waiter: Waiter): number {
    return performance.now() - (this.#since.get(waiter) ?? 0);
  }

  /** Removes and returns the first of a tenant's waiters. The tenant then counts as served last. */
  take(tenant: string): Waiter | undefined {
    const waiter = this.first(tenant);
    if (!waiter) return undefined;
    this.remove(waiter);
    const rest = this.#byTenant.get(tenant);
    if (rest) {
      this.#byTenant.delete(tenant);
      this.#byTenant.set(tenant, rest);
    }
    return waiter;
  }

  /** How many programs wait that may have an engine, and for which none is coming. `held` and `coming` as for `next`. */
  unserved(held: ReadonlyMap<string, number>, coming: ReadonlyMap<string, number>): number {
    let unserved = 0;
    for (const [tenant, own] of this.#byTenant) {
      const mayHave = this.#perTenant - (held.get(tenant) ?? 0);
      unserved += Math.max(0, Math.min(lengthOf(own) - (coming.get(tenant) ?? 0), mayHave));
    }
    return unserved;
  }

  /** The tenants with waiters for which nothing is coming, those with the fewest engines or containers first. */
  wanting(held: ReadonlyMap<string, number>, coming: ReadonlyMap<string, number>): readonly string[] {
    const wanting: string[] = [];
    for (const [tenant, own] of this.#byTenant) if (lengthOf(own) > (coming.get(tenant) ?? 0)) wanting.push(tenant);
    return wanting.length < 2
      ? wanting
      : wanting.toSorted((one, other) => (held.get(one) ?? 0) - (held.get(other) ?? 0));
  }

  /**
   * Whether a waiting program of another tenant may lose its place to one of `tenant`. Within the same tenant it always
   * may. Another tenant loses places only while it has the most engines or containers, and more than `tenant`, so only
   * those beyond its equal part.
   */
  mayLoseTo(tenant: string, held: ReadonlyMap<string, number>): (other: string) => boolean {
    const has = held.get(tenant) ?? 0;
    const most = has < this.#perTenant ? Math.max(has + 1, ...held.values()) : Number.POSITIVE_INFINITY;
    return (other) => other === tenant || (held.get(other) ?? 0) === most;
  }

  /**
   * Returns the tenant that is served next, one with fewer than `perTenant`. `held` counts each tenant's engines,
   * coming ones included; `coming` counts only the coming ones. The tenant `keeps` has just released an engine. While
   * it has waiters it keeps that engine, unless the next tenant has none, or fewer than `keeps` has.
   */
  next(held: ReadonlyMap<string, number>, coming: ReadonlyMap<string, number>, keeps?: string): string | undefined {
    let best: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const [tenant, own] of this.#byTenant) {
      const has = held.get(tenant) ?? 0;
      if (has >= this.#perTenant || lengthOf(own) <= (coming.get(tenant) ?? 0)) continue;
      if (has < fewest) {
        best = tenant;
        fewest = has;
      }
    }
    if (keeps === undefined || best === undefined || fewest === 0 || !this.#byTenant.has(keeps)) return best;
    return (held.get(keeps) ?? 0) <= fewest ? keeps : best;
  }

  /** Rejects all waiters and empties the line. */
  clear(error: unknown): void {
    for (const { begun, fresh } of this.#byTenant.values())
      for (const waiter of [...begun, ...fresh]) waiter.reject(error);
    this.#byTenant.clear();
    this.#since.clear();
    this.#length = 0;
    this.#fresh = 0;
  }
}
