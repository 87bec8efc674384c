import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";
import { readTurn } from "./history.ts";

/** Records that may follow the last turn: the outcome, and decisions that came too late. */
const RECORDS_AFTER = 64;

/**
 * JSON text of the whole value that a program has returned, from the journal; undefined if it returned none, or has not
 * completed. Rejects as the journal does.
 */
export async function returnedText(journal: Journal, execution: ExecutionId): Promise<string | undefined> {
  const { records } = await journal.find(execution);
  let text: string | undefined;
  for await (const record of journal.read(execution, { from: Math.max(0, records - RECORDS_AFTER) })) {
    if (record.type !== "turn") continue;
    const settled = readTurn(record).commands.find((command) => command.kind === "settled");
    if (settled?.ok) text = settled.body;
  }
  return text;
}
