import {
  flag,
  hasCode,
  type OptionsOf,
  type PortcullisError,
  required,
  thrownMessage,
  wholeNumber,
  withDefault,
} from "../base/index.ts";
import type { ExecutionSummary, Journal, JournalFinding } from "./journal.ts";

export const PRUNE_RULES = {
  /** Executions that started before this time, in milliseconds since 1970. */
  before: required(wholeNumber({ min: 0 })),
  /** Also executions without an outcome, unless a driver holds them. */
  open: withDefault(flag(), false),
};

/** Which executions `prune` deletes. */
export type PruneOptions = OptionsOf<typeof PRUNE_RULES>;

/** A damaged place of a journal. */
export interface JournalProblem {
  /** Missing if the store itself is damaged. */
  readonly execution?: string;
  readonly problem: string;
}

/** A journal outside of this process's memory. */
export interface StoredJournal extends Journal {
  /**
   * Deletes executions with their texts. Resolves with the number of executions. A program of an open conversation stays.
   */
  prune(options: PruneOptions): Promise<number>;
  /** Reads everything, and yields what is damaged: the store, records, their order, hashes of texts. */
  check(): AsyncIterable<JournalProblem>;
}

/** What a store finds out about itself: those in a database do, below what wraps them. */
export async function diagnoseStore(
  journal: Journal & { readonly diagnose?: () => Promise<readonly JournalFinding[]> },
): Promise<readonly JournalFinding[]> {
  return journal.store ? diagnoseStore(journal.store) : ((await journal.diagnose?.()) ?? []);
}

/** What is damaged in the executions of a store: their entries, records and texts. */
export async function* executionProblems(journal: Journal): AsyncGenerator<JournalProblem> {
  const damaged: PortcullisError[] = [];
  const drain = () => damaged.splice(0).map(({ message: problem }) => ({ problem }));
  try {
    for await (const summary of journal.list({ onDamaged: (error) => damaged.push(error) })) {
      yield* drain();
      const problem = await problemOf(journal, summary);
      if (problem !== undefined) yield { execution: summary.execution, problem };
    }
    yield* drain();
  } catch (error) {
    // The store itself cannot be read on.
    if (!hasCode(error, "journal_corrupt")) throw error;
    yield { problem: error.message };
  }
}

async function problemOf(
  journal: Journal,
  { execution, kind, tenant, startedAt, ended }: ExecutionSummary,
): Promise<string | undefined> {
  let position = 0;
  let outcomes = 0;
  try {
    for await (const record of journal.read(execution)) {
      if ((record.type === "header") !== (position === 0)) return `record ${position} is a ${record.type}`;
      if (record.type === "header") {
        const isSame = record.execution === execution && record.kind === kind && record.tenant === tenant;
        if (!isSame || record.startedAt !== startedAt) return "its header does not match its entry in the list";
      }
      if (record.type === "outcome") outcomes += 1;
      position += 1;
    }
  } catch (error) {
    return thrownMessage(error);
  }
  if (outcomes > 1) return `it has ${outcomes} outcomes`;
  return outcomes === Number(ended) ? undefined : "its list entry and its records disagree on whether it has ended";
}
