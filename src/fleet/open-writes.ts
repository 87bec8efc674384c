import type { ExecutionId } from "../base/index.ts";
import type { CallRecord, JournalRecord } from "../journal/record.ts";

/**
 * The calls of this process that change something and whose results are not in the journal yet. Another driver could not
 * tell whether such a call was made, and would have to ask a person.
 */
export function openWrites(isWrite: (tool: string) => boolean) {
  /** By execution, each with whether its handler has ended. */
  const open = new Map<ExecutionId, Map<string, boolean>>();
  const isBegun = (record: JournalRecord): record is CallRecord => {
    if (record.type !== "call" || record.decision !== "allowed") return false;
    return record.effect === undefined ? isWrite(record.tool) : record.effect === "write";
  };
  return {
    executions: (): Iterable<ExecutionId> => open.keys(),

    has: (execution: ExecutionId): boolean => open.has(execution),

    isBegun,

    /** The handlers of calls that these records allow run once they are written. */
    onWriting(execution: ExecutionId, records: readonly JournalRecord[]): void {
      for (const record of records) {
        if (!isBegun(record)) continue;
        const calls = open.get(execution) ?? new Map<string, boolean>();
        open.set(execution, calls.set(record.call, false));
      }
    },

    /** A result stands in the turn or the message that follows the end of its handler. */
    onWritten(execution: ExecutionId, records: readonly JournalRecord[]): void {
      const calls = open.get(execution);
      if (!calls) return;
      for (const record of records) {
        if (record.type === "answered" && calls.has(record.call)) calls.set(record.call, true);
        if (record.type === "turn" || record.type === "message")
          for (const [call, hasEnded] of calls) if (hasEnded) calls.delete(call);
        if (record.type === "outcome") calls.clear();
      }
      if (calls.size === 0) open.delete(execution);
    },

    /** The execution is driven here no more. */
    forget: (execution: ExecutionId) => void open.delete(execution),
  };
}
