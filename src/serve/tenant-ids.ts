import { hash } from "node:crypto";
import type { ExecutionId } from "../base/index.ts";
import { findIfKnown } from "../journal/reading/index.ts";
import type { Journal } from "../journal/journal.ts";

const TAG_LENGTH = 16;
/** Characters that the journal's id has more than the client's. */
export const PREFIX_LENGTH = "t-".length + TAG_LENGTH + ":".length;

const PREFIXES = /t-[0-9a-f]{16}:/g;

/**
 * Ids of executions as a tenant writes them. Ids that clients choose are kept in a space of their tenant. No other
 * tenant, no code of the host and nothing that an execution starts has ids in this space. So a client can take no id
 * from another client's tenant, nor learn that it is taken. An id that is also one of the journal's own means that one:
 * what an execution is going to start has an id that can be computed, and chosen, beforehand.
 */
export function tenantIds(journal: Journal) {
  const stored = async (tenant: string, id: string): Promise<ExecutionId> => {
    const ofJournal = await findIfKnown(journal, id);
    return ofJournal?.tenant === tenant ? id : chosenId(tenant, id);
  };
  const shownOf = (tenant: string, id: ExecutionId): string => {
    const prefix = prefixOf(tenant);
    return id.startsWith(prefix) ? id.slice(prefix.length) : id;
  };
  return {
    /**
     * The journal's id of an execution that exists or is to be begun. A client of the tenant has chosen `id`, or `id` is
     * the journal's own, for an execution that another door has begun.
     */
    stored,
    /** Whether the id means another execution than it did: who has looked at the one would decide about the other. */
    async meansTwo(tenant: string, id: string): Promise<boolean> {
      const chosen = chosenId(tenant, id);
      return (await stored(tenant, id)) !== chosen && (await findIfKnown(journal, chosen)) !== undefined;
    },
    /** An id of the journal as its tenant writes it. */
    shown: shownOf,
    /** What is told of an execution or a call, with its ids as its tenant writes them. */
    shownIn<About extends Shown>(tenant: string, about: About): About {
      const { execution, parent, corrects, from, calls } = about;
      const shown = (id: ExecutionId | undefined) => id && shownOf(tenant, id);
      const below = (ref: Ref | undefined) => ref && { ...ref, execution: shown(ref.execution) };
      const own = { execution: shown(execution), corrects: shown(corrects), from: below(from) };
      // There may be very many of them.
      const named = (call: Pick<Shown, "from"> & object) => (call.from ? { ...call, from: below(call.from) } : call);
      const above = typeof parent === "object" ? below(parent) : shown(parent);
      return { ...about, ...own, parent: above, calls: calls?.map(named) };
    },
  };
}

export type TenantIds = ReturnType<typeof tenantIds>;

interface Ref {
  readonly execution: ExecutionId;
}

/** Where ids of executions are in what is told of one, or of a call. */
interface Shown {
  readonly execution?: ExecutionId;
  readonly parent?: ExecutionId | Ref;
  readonly corrects?: ExecutionId;
  /** Where the answer of a call comes from. */
  readonly from?: Ref;
  readonly calls?: readonly object[];
}

/** A sentence about an execution, with the id that its client has chosen. */
export function withoutPrefixes(text: string): string {
  return text.replaceAll(PREFIXES, "");
}

/** What the journal calls an execution whose id a client of this tenant has chosen. */
export function chosenId(tenant: string, id: string): ExecutionId {
  return prefixOf(tenant) + id;
}

/** The prefix says nothing of the tenant's name, which may have any characters, and has the same length for each name. */
function prefixOf(tenant: string): string {
  return `t-${hash("sha256", tenant).slice(0, TAG_LENGTH)}:`;
}
