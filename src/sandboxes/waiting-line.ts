import { QueueFull } from "./sandbox.ts";

/** How often each name is there. */
export function countNames(names: Iterable<string | undefined>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** Who waits in a line, and whose program it is. */
export interface InLine {
  readonly tenant: string;
  /** Called where it is sent away. */
  readonly reject: (error: unknown) => void;
}

/**
 * Programs that wait for an engine or a container, first come first served among those of one tenant, and fair over tenants: the
 * tenant that has fewest of them comes next, and of several the one that was served longest ago.
 */
export class WaitingLine<Waiter extends InLine> {
  readonly #most: number;
  /** In the order in which tenants were served, the last one last. Only tenants with programs that wait are in it. */
  readonly #byTenant = new Map<string, Waiter[]>();
  #length = 0;

  /** `most` is how many may wait at once. */
  constructor(most: number) {
    this.#most = most;
  }

  get length(): number {
    return this.#length;
  }

  /**
   * Puts a waiter at the end of its tenant's. Where the line is full, the last one of the tenant with most waiters is
   * sent away with a `QueueFull`, which may be this one: one tenant's programs cannot keep another's out.
   */
  add(waiter: Waiter): void {
    const own = this.#byTenant.get(waiter.tenant) ?? [];
    if (this.#length >= this.#most) {
      const longest = [...this.#byTenant.values()].reduce(
        (one, other) => (other.length > one.length ? other : one),
        own,
      );
      const goes = longest.length > own.length + 1 ? longest.at(-1) : undefined;
      if (goes) this.remove(goes);
      (goes ?? waiter).reject(new QueueFull(this.#most));
      if (!goes) return;
    }
    own.push(waiter);
    this.#byTenant.set(waiter.tenant, own);
    this.#length += 1;
  }

  /** Takes a waiter out, where it stands in the line. */
  remove(waiter: Waiter): void {
    const own = this.#byTenant.get(waiter.tenant);
    const index = own?.indexOf(waiter) ?? -1;
    if (!own || index < 0) return;
    own.splice(index, 1);
    this.#length -= 1;
    if (own.length === 0) this.#byTenant.delete(waiter.tenant);
  }

  /** The first of a tenant's waiters, still in the line. */
  first(tenant: string | undefined): Waiter | undefined {
    return tenant === undefined ? undefined : this.#byTenant.get(tenant)?.[0];
  }

  /** Takes out the first of a tenant's waiters, who has been served with that. */
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

  /** How many wait without an engine coming for them. */
  unserved(coming: ReadonlyMap<string, number>): number {
    let unserved = 0;
    for (const [tenant, waiters] of this.#byTenant) unserved += Math.max(0, waiters.length - (coming.get(tenant) ?? 0));
    return unserved;
  }

  /**
   * Tenant whose turn it is. `held` tells how many engines a tenant has, coming ones included; `coming` for how many of
   * its waiters one is coming already. The tenant `keeps` has just given an engine back: it is not taken from it for
   * another one that has at least one, and no fewer.
   */
  next(held: ReadonlyMap<string, number>, coming: ReadonlyMap<string, number>, keeps?: string): string | undefined {
    let best: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const [tenant, waiters] of this.#byTenant) {
      const has = held.get(tenant) ?? 0;
      if (waiters.length <= (coming.get(tenant) ?? 0)) continue;
      if (has < fewest) {
        best = tenant;
        fewest = has;
      }
    }
    if (keeps === undefined || best === undefined || fewest === 0 || !this.#byTenant.has(keeps)) return best;
    return (held.get(keeps) ?? 0) <= fewest ? keeps : best;
  }

  /** Empties the line. */
  clear(error: unknown): void {
    for (const waiters of this.#byTenant.values()) for (const waiter of waiters) waiter.reject(error);
    this.#byTenant.clear();
    this.#length = 0;
  }
}
