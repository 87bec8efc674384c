import { type HiddenNames, TenantResults } from "./tenant-results.ts";

/** Tenants, and fields of all their shapes, that are held. */
const [TENANTS, FIELDS] = [500, 200_000];

/** What results of tools were like, tenant by tenant, in memory: those that were asked for longest ago make room. */
export class ObservedResults {
  readonly #hidden: HiddenNames | undefined;
  readonly #tenants = new Map<string, TenantResults>();

  /** `hidden` says which names must not leave; undefined if all may. */
  constructor(hidden: HiddenNames | undefined) {
    this.#hidden = hidden;
  }

  of(tenant: string): TenantResults {
    const known = this.#tenants.get(tenant) ?? new TenantResults(this.#hidden);
    this.#tenants.delete(tenant);
    this.#tenants.set(tenant, known);
    this.#makeRoom(known);
    return known;
  }

  #makeRoom(wanted: TenantResults): void {
    let fields = this.#tenants.values().reduce((sum, one) => sum + one.fields, 0);
    for (const [tenant, one] of this.#tenants) {
      if (one === wanted || (this.#tenants.size <= TENANTS && fields <= FIELDS)) return;
      this.#tenants.delete(tenant);
      fields -= one.fields;
    }
  }
}
