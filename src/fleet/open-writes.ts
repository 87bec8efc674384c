import type { ExecutionId } from "../base/index.ts";
import type { CallRecord, JournalRecord } from "../journal/record.ts";

/**
 * The calls of this process that change something and whose results are not in the journal yet. Another driver could not
 * tell whether such a call was made, and would have to ask a person.
 */
export class OpenWrites {
  readonly #isWrite: (tool: string) => boolean;
  /** By execution, each with whether its handler has ended. */
  readonly #calls = new Map<ExecutionId, Map<string, boolean>>();

  constructor(isWrite: (tool: string) => boolean) {
    this.#isWrite = isWrite;
  }

  get executions(): Iterable<ExecutionId> {
    return this.#calls.keys();
  }

  has(execution: ExecutionId): boolean {
    return this.#calls.has(execution);
  }

  isBegun(record: JournalRecord): record is CallRecord {
    if (record.type !== "call" || record.decision !== "allowed") return false;
    return record.effect === undefined ? this.#isWrite(record.tool) : record.effect === "write";
  }

  /** The handlers of calls that these records allow run once they are written. */
  onWriting(execution: ExecutionId, records: readonly JournalRecord[]): void {
    for (const record of records) {
      if (!this.isBegun(record)) continue;
      const calls = this.#calls.get(execution) ?? new Map<string, boolean>();
      this.#calls.set(execution, calls.set(record.call, false));
    }
  }

  /** A result stands in the turn or the message that follows the end of its handler. */
  onWritten(execution: ExecutionId, records: readonly JournalRecord[]): void {
    const calls = this.#calls.get(execution);
    if (!calls) return;
    for (const record of records) {
      if (record.type === "answered" && calls.has(record.call)) calls.set(record.call, true);
      if (record.type === "turn" || record.type === "message")
        for (const [call, hasEnded] of calls) if (hasEnded) calls.delete(call);
      if (record.type === "outcome") calls.clear();
    }
    if (calls.size === 0) this.#calls.delete(execution);
  }

  /** The execution is driven here no more. */
  forget(execution: ExecutionId): void {
    this.#calls.delete(execution);
  }
}
