import { type ExecutionId, hasCode } from "../base/index.ts";
import type { ExecutionSummary, Journal } from "./journal.ts";

/** Like `find`, but undefined for an execution that the journal does not hold. */
export function findIfKnown(journal: Journal, execution: ExecutionId): Promise<ExecutionSummary | undefined> {
  return ifKnown(() => journal.find(execution));
}

/** What is read of an execution; undefined if that fails with `execution_unknown`. */
export async function ifKnown<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (hasCode(error, "execution_unknown")) return undefined;
    throw error;
  }
}
