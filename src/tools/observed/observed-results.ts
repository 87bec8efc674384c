import { type ObservedParts, TenantResults } from "./tenant-results.ts";

/** Tenants, and fields of all their shapes, that are held in memory. */
const TENANTS = 500;
const FIELDS = 200_000;

/** What results of tools were like, tenant by tenant: those that were asked for last are in memory. */
export class ObservedResults {
  readonly #parts: ObservedParts;
  readonly #tenants = new Map<string, TenantResults>();

  constructor(parts: ObservedParts) {
    this.#parts = parts;
  }

  of(tenant: string): TenantResults {
    const known = this.#tenants.get(tenant) ?? new TenantResults(tenant, this.#parts);
    this.#tenants.delete(tenant);
    this.#tenants.set(tenant, known);
    this.#makeRoom(known);
    return known;
  }

  /** Keeps what is not kept yet. */
  async flush(): Promise<void> {
    await Promise.all([...this.#tenants.values()].map((one) => one.flush()));
  }

  #makeRoom(wanted: TenantResults): void {
    let fields = this.#tenants.values().reduce((sum, one) => sum + one.fields, 0);
    for (const [tenant, one] of this.#tenants) {
      if (this.#tenants.size <= TENANTS && fields <= FIELDS) return;
      if (one === wanted) continue;
      this.#tenants.delete(tenant);
      fields -= one.fields;
      if (!one.isSaved) void one.flush();
    }
  }
}
