import { monotonic } from "../clock.ts";

/** From so many engines or places on, one is always left for other tenants: it is a small part of all. */
const MANY = 8;
/** With fewer, how long one is left for other tenants after another tenant has come, in milliseconds. */
const OTHERS_MS = 5 * 60_000;

interface Seen {
  readonly tenant: string;
  readonly at: number;
}

/**
 * How many engines, containers or places a tenant may have: `perTenant`, or by default all of them or all but one. One is
 * left for other tenants, because programs that sleep may keep the others for long: always if there are many, otherwise
 * while another tenant has come lately.
 */
export class TenantBound {
  readonly #all: number;
  readonly #perTenant: number | undefined;
  /** The tenant that came last, and the last other tenant. */
  #latest: Seen | undefined;
  #before: Seen | undefined;

  constructor(all: number, perTenant: number | undefined) {
    this.#all = all;
    this.#perTenant = perTenant;
  }

  see(tenant: string): void {
    if (this.#latest && this.#latest.tenant !== tenant) this.#before = this.#latest;
    this.#latest = { tenant, at: monotonic() };
  }

  of(tenant: string): number {
    if (this.#perTenant !== undefined) return this.#perTenant;
    if (this.#all === 1 || this.#all === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
    const other = this.#latest?.tenant === tenant ? this.#before : this.#latest;
    const isShared = this.#all >= MANY || (other !== undefined && monotonic() - other.at < OTHERS_MS);
    return isShared ? this.#all - 1 : Number.POSITIVE_INFINITY;
  }
}
