import { EgressRefusal } from "../egress-refusal.ts";
import type { EgressPlan } from "../egress-plan.ts";

/** How many addresses of one host are tried, one after the other. */
const MAX_TRIED = 4;

/** Looks up each host once, so that no name changes its address after the check. A container's look-ups take turns. */
export class Resolver {
  readonly #plan: Pick<EgressPlan, "lookup" | "mayReach">;
  readonly #found = new Map<string, Promise<readonly string[]>>();
  #last: Promise<unknown> = Promise.resolve();
  readonly #over = new AbortController();

  constructor(plan: Pick<EgressPlan, "lookup" | "mayReach">) {
    this.#plan = plan;
  }

  /** Rejects with an `EgressRefusal` if the host has no address, or an address that may not be reached. */
  resolve(host: string): Promise<readonly string[]> {
    const cached = this.#found.get(host);
    if (cached) return cached;
    const found = this.#last.then(() => this.#find(host));
    this.#found.set(host, found);
    // A failed look-up is not cached.
    found.catch(() => this.#found.delete(host));
    this.#last = found.catch(() => {});
    return found;
  }

  /** Ends all look-ups, queued ones included: a look-up after the guest's end could still send data to a name server. */
  close(): void {
    this.#over.abort();
  }

  async #find(host: string): Promise<readonly string[]> {
    if (this.#over.signal.aborted) throw new EgressRefusal(502, "Host Not Found", "The guest has ended.", "failed");
    let addresses: readonly string[];
    try {
      addresses = await this.#plan.lookup(host, this.#over.signal);
    } catch (error) {
      if (error instanceof EgressRefusal) throw error;
      addresses = [];
    }
    if (addresses.length === 0) throw new EgressRefusal(502, "Host Not Found", `${host} has no address.`, "failed");
    // One forbidden address is enough to refuse the host: a mixed list is a sign of an attack.
    if (!addresses.every((address) => this.#plan.mayReach(address)))
      throw new EgressRefusal(403, "Address Not Public", `${host} is at an address that programs may not reach.`);
    return addresses.slice(0, MAX_TRIED);
  }
}
