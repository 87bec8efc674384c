import type { AgentScope } from "../conversations/agent-scope.ts";
import type { ExecutionFacts } from "./executions/read-facts.ts";
import type { ExecutionId } from "../base/index.ts";
import { readRecords } from "../journal/reading/read-records.ts";
import type { JournalRecord } from "../journal/record.ts";
import { type Report, reportOf } from "../executions/output/report.ts";
import { findOwn } from "../executions/from-journal/past-execution.ts";
import type { Replayed } from "../executions/guest/replay-turns.ts";
import type { Scope } from "../executions/scope.ts";

/** What the journal tells of an execution or a conversation (`runtime.status`). */
export interface ExecutionStatus extends Omit<ExecutionFacts, "ended"> {
  /** Of a program that has ended or waits. */
  readonly report?: Report;
}

/**
 * An execution or a conversation in a runtime's journal. Its methods reject with `execution_unknown` if the journal does
 * not hold the id, and for another tenant's.
 */
export interface ExecutionHandle {
  readonly id: ExecutionId;
  /** The records of the journal, the header first. */
  readonly records: () => Promise<readonly JournalRecord[]>;
  /**
   * Runs the program again in a fresh guest, with the events of the journal, and compares its turns with the journal.
   * No handler runs, and the limits are the narrower of the journal's and the runtime's. Rejects with `option_invalid` for
   * a conversation, with `journal_invalid` or `journal_version` for records that cannot be read, and with `runtime_closed`.
   */
  readonly replay: () => Promise<Replayed>;
}

export function handleOf(id: ExecutionId, scope: AgentScope): ExecutionHandle {
  const { journal, sandbox, signal, tenant, gate, limits } = scope;
  return {
    id,
    records: async () => {
      await findOwn(scope, id);
      return Array.fromAsync(readRecords(journal, id, { tenant }));
    },
    replay: async () => {
      const { replay } = await import("../executions/replay.ts");
      await findOwn(scope, id);
      const records = () => readRecords(journal, id, { tenant, mayWait: true });
      return replay(records, sandbox, signal, 0, (bytes) => gate.held.count(bytes), limits);
    },
  };
}

export function statusOf({ ended, ...facts }: ExecutionFacts, { gate }: Scope): ExecutionStatus {
  return { ...facts, ...(ended && { report: reportOf(ended, gate.tools) }) };
}
