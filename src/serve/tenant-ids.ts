import { hash } from "node:crypto";
import type { ExecutionId } from "../journal/execution-id.ts";
import { findIfKnown } from "../journal/find-if-known.ts";
import type { Journal } from "../journal/journal.ts";

/** Characters of the digest in the ids of a tenant. */
const TAG_LENGTH = 16;
/** Characters that the journal's id has more than the client's. */
export const PREFIX_LENGTH = "t-".length + TAG_LENGTH + ":".length;

const PREFIXES = /t-[0-9a-f]{16}:/g;

/**
 * Ids of executions as a tenant writes them. What clients choose is kept in a space of their tenant: under an id that no
 * other tenant, no code of the host and nothing that an execution starts has. So one client can take no id from another,
 * nor learn that it is taken.
 */
export class TenantIds {
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /**
   * The id in the journal of an execution that there is, or that is to be begun. It is one that the client's tenant has
   * chosen, or one of the journal, which another door has begun.
   */
  async stored(tenant: string, id: string): Promise<ExecutionId> {
    const chosen = chosenId(tenant, id);
    // Both are looked for, so that it takes as long whether another tenant has the id or not.
    const [ofChosen, ofJournal] = await Promise.all([
      findIfKnown(this.#journal, chosen),
      findIfKnown(this.#journal, id),
    ]);
    return ofChosen === undefined && ofJournal?.tenant === tenant ? id : chosen;
  }

  /** An id of the journal as its tenant writes it. */
  shown(tenant: string, id: ExecutionId): string {
    const prefix = prefixOf(tenant);
    return id.startsWith(prefix) ? id.slice(prefix.length) : id;
  }
}

/** A sentence about an execution, with the id that its client has chosen. */
export function withoutPrefixes(text: string): string {
  return text.replaceAll(PREFIXES, "");
}

/** What the journal calls an execution whose id a client of this tenant has chosen. */
export function chosenId(tenant: string, id: string): ExecutionId {
  return prefixOf(tenant) + id;
}

/** It says nothing of the tenant's name, which may have any characters, and is as long for each. */
function prefixOf(tenant: string): string {
  return `t-${hash("sha256", tenant).slice(0, TAG_LENGTH)}:`;
}
