import { Counts } from "../base/index.ts";

/**
 * How many executions of one tenant the workers of a fleet drive at once: what drivers hold by the journal, and what this
 * worker has taken and not claimed yet. Workers that look at the same moment may exceed it for a moment, by one each.
 */
export class TenantShares {
  readonly #held: () => Promise<ReadonlyMap<string, number>>;
  readonly #perTenant: number;
  readonly #here = new Counts();
  #known: ReadonlyMap<string, number> = new Map();
  /** Taken since the journal was asked. */
  #taken = new Counts();

  constructor(held: () => Promise<ReadonlyMap<string, number>>, perTenant = Number.POSITIVE_INFINITY) {
    this.#held = held;
    this.#perTenant = perTenant;
  }

  /** The tenants that have as much as they may. */
  async passedOver(): Promise<readonly string[]> {
    if (this.#perTenant === Number.POSITIVE_INFINITY) return [];
    this.#known = await this.#held();
    this.#taken = new Counts();
    return [...this.#known.keys()].filter((tenant) => !this.#hasRoom(tenant));
  }

  /** Takes a share of the tenant. Returns false if it has as much as it may. */
  take(tenant: string): boolean {
    if (!this.#hasRoom(tenant)) return false;
    this.#taken.add(tenant, 1);
    this.#here.add(tenant, 1);
    return true;
  }

  giveBack(tenant: string): void {
    this.#here.add(tenant, -1);
  }

  #hasRoom(tenant: string): boolean {
    const known = (this.#known.get(tenant) ?? 0) + this.#taken.of(tenant);
    return Math.max(known, this.#here.of(tenant)) < this.#perTenant;
  }
}
