import { EgressRefusal } from "./egress-refusal.ts";
import type { EgressPlan } from "./egress-plan.ts";

/** Addresses of one host that are tried, one after the other. */
const TRIED = 4;

/**
 * Finds the addresses of hosts: each host's once in a container's life, so that a name that changes its
 * addresses is of no use, and one at a time, because the machine's own resolver keeps a thread busy.
 */
export class Resolver {
  readonly #plan: Pick<EgressPlan, "lookup" | "mayReach">;
  readonly #found = new Map<string, Promise<readonly string[]>>();
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(plan: Pick<EgressPlan, "lookup" | "mayReach">) {
    this.#plan = plan;
  }

  /** Rejects with an `EgressRefusal` where there is none, or one that may not be reached. */
  resolve(host: string): Promise<readonly string[]> {
    const known = this.#found.get(host);
    if (known) return known;
    const found = this.#last.then(() => this.#find(host));
    this.#found.set(host, found);
    // What was not found may be found the next time.
    found.catch(() => this.#found.delete(host));
    this.#last = found.catch(() => {});
    return found;
  }

  /** Looks nothing up any more: not what waits for its turn either, for a name that is asked for tells name servers something. */
  close(): void {
    this.#closed = true;
  }

  async #find(host: string): Promise<readonly string[]> {
    if (this.#closed) throw new EgressRefusal(502, "Host Not Found", "The guest has ended.", "failed");
    let addresses: readonly string[];
    try {
      addresses = await this.#plan.lookup(host);
    } catch {
      addresses = [];
    }
    if (addresses.length === 0) throw new EgressRefusal(502, "Host Not Found", `${host} has no address.`, "failed");
    // Who mixes one address of these networks in with others means that one.
    if (!addresses.every((address) => this.#plan.mayReach(address)))
      throw new EgressRefusal(403, "Address Not Public", `${host} is at an address that programs may not reach.`);
    return addresses.slice(0, TRIED);
  }
}
