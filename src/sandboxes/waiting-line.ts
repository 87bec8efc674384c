import { QueueFull } from "./sandbox.ts";

/** Counts how often each name occurs. */
export function countNames(names: Iterable<string | undefined>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** A program that waits in a line. */
export interface InLine {
  readonly tenant: string;
  /** Called if the program is removed because the line is full or closed. */
  readonly reject: (error: unknown) => void;
}

/**
 * Programs that wait for an engine or a container. Within a tenant they are served in order of arrival. Across tenants
 * the one with the fewest engines or containers is next; among equals, the one that was served longest ago.
 */
export class WaitingLine<Waiter extends InLine> {
  readonly #maxLength: number;
  readonly #perTenant: number;
  /** Only tenants with waiting programs. The tenant that was served last comes last. */
  readonly #byTenant = new Map<string, Waiter[]>();
  #length = 0;

  /** `maxLength` is how many programs may wait at once, `perTenant` how many engines or containers one tenant may have. */
  constructor(maxLength: number, perTenant = Number.POSITIVE_INFINITY) {
    this.#maxLength = maxLength;
    this.#perTenant = perTenant;
  }

  get length(): number {
    return this.#length;
  }

  /**
   * Adds a waiter behind the others of its tenant. If the line is full, the last waiter of the tenant with the most
   * waiters, which may be this one, is rejected with a `QueueFull`: one tenant cannot fill the line for the others.
   */
  add(waiter: Waiter): void {
    const own = this.#byTenant.get(waiter.tenant) ?? [];
    if (this.#length >= this.#maxLength) {
      const longest = [...this.#byTenant.values()].reduce(
        (one, other) => (other.length > one.length ? other : one),
        own,
      );
      const evicted = longest.length > own.length + 1 ? longest.at(-1) : undefined;
      if (evicted) this.remove(evicted);
      (evicted ?? waiter).reject(new QueueFull(this.#maxLength));
      if (!evicted) return;
    }
    own.push(waiter);
    this.#byTenant.set(waiter.tenant, own);
    this.#length += 1;
  }

  /** Removes a waiter, if it is in the line. */
  remove(waiter: Waiter): void {
    const own = this.#byTenant.get(waiter.tenant);
    const index = own?.indexOf(waiter) ?? -1;
    if (!own || index < 0) return;
    own.splice(index, 1);
    this.#length -= 1;
    if (own.length === 0) this.#byTenant.delete(waiter.tenant);
  }

  /** Returns the first of a tenant's waiters and leaves it in the line. */
  first(tenant: string | undefined): Waiter | undefined {
    return tenant === undefined ? undefined : this.#byTenant.get(tenant)?.[0];
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
    for (const [tenant, waiters] of this.#byTenant) {
      const mayHave = this.#perTenant - (held.get(tenant) ?? 0);
      unserved += Math.max(0, Math.min(waiters.length - (coming.get(tenant) ?? 0), mayHave));
    }
    return unserved;
  }

  /**
   * Returns the tenant that is served next, one with fewer than `perTenant`. `held` counts each tenant's engines, coming ones included; `coming` counts
   * only the coming ones. The tenant `keeps` has just released an engine. While it has waiters it keeps that engine,
   * unless the next tenant has none, or fewer than `keeps` has.
   */
  next(held: ReadonlyMap<string, number>, coming: ReadonlyMap<string, number>, keeps?: string): string | undefined {
    let best: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const [tenant, waiters] of this.#byTenant) {
      const has = held.get(tenant) ?? 0;
      if (has >= this.#perTenant || waiters.length <= (coming.get(tenant) ?? 0)) continue;
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
    for (const waiters of this.#byTenant.values()) for (const waiter of waiters) waiter.reject(error);
    this.#byTenant.clear();
    this.#length = 0;
  }
}
