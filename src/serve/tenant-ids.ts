import type { ExecutionId } from "../journal/execution-id.ts";
import { findIfKnown } from "../journal/find-if-known.ts";
import type { Journal } from "../journal/journal.ts";

/**
 * Ids of executions as a tenant writes them. Two tenants may choose the same one: the journal keeps the first under it, and
 * those of other tenants under the id with their name before it. Neither tenant learns of the other.
 */
export class TenantIds {
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** The id in the journal of an execution that there is, or that is to be begun. */
  async stored(tenant: string, id: string): Promise<ExecutionId> {
    const own = this.shown(tenant, id);
    const found = await findIfKnown(this.#journal, own);
    return found === undefined || found.tenant === tenant ? own : prefixOf(tenant) + own;
  }

  /** An id of the journal as its tenant writes it. */
  shown(tenant: string, id: ExecutionId): string {
    const prefix = prefixOf(tenant);
    return id.startsWith(prefix) && id.length > prefix.length ? id.slice(prefix.length) : id;
  }
}

function prefixOf(tenant: string): string {
  return `${tenant}:`;
}
