import { PortcullisError } from "../errors.ts";
import type { ExecutionId } from "./execution-id.ts";
import type { ExecutionSummary, Journal } from "./journal.ts";

/** Like `find`, but undefined for an execution that the journal does not hold. */
export async function findIfKnown(journal: Journal, execution: ExecutionId): Promise<ExecutionSummary | undefined> {
  try {
    return await journal.find(execution);
  } catch (error) {
    if (PortcullisError.is(error) && error.code === "execution_unknown") return undefined;
    throw error;
  }
}
