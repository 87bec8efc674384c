interface Enqueued {
  readonly tenant?: string;
  readonly id?: string;
}

/**
 * A queue for `p-queue`, which gives each task an id, that serves tenants in turn, and within a tenant in the order of
 * arrival.
 */
export class TenantsInTurn<Run> {
  /** Tasks by id, of the tenants that have any. The tenant whose turn is next comes first. */
  readonly #byTenant = new Map<string, Map<string, Run>>();
  readonly #tenantOf = new Map<string, string>();

  get size(): number {
    return this.#tenantOf.size;
  }

  enqueue(run: Run, { tenant = "", id = "" }: Enqueued = {}): void {
    const own = this.#byTenant.get(tenant) ?? new Map<string, Run>();
    own.set(id, run);
    this.#byTenant.set(tenant, own);
    this.#tenantOf.set(id, tenant);
  }

  dequeue(): Run | undefined {
    for (const [tenant, own] of this.#byTenant) {
      for (const [id, run] of own) {
        this.remove(id);
        // Its next turn comes after those of all others that wait.
        if (own.size > 0) {
          this.#byTenant.delete(tenant);
          this.#byTenant.set(tenant, own);
        }
        return run;
      }
    }
    return undefined;
  }

  remove(id: string): void {
    const tenant = this.#tenantOf.get(id) ?? "";
    const own = this.#byTenant.get(tenant);
    if (!this.#tenantOf.delete(id) || !own) return;
    own.delete(id);
    if (own.size === 0) this.#byTenant.delete(tenant);
  }

  /** All tasks have one priority. */
  filter(): Run[] {
    return [...this.#byTenant.values()].flatMap((own) => [...own.values()]);
  }

  setPriority(): void {}
}
