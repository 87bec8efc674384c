import { findIfKnown } from "../../journal/find-if-known.ts";
import type { Journal } from "../../journal/journal.ts";
import { HOST, readHeader } from "../../journal/reading/read-records.ts";
import type { Header } from "../../journal/record.ts";

/** The header of what is taken up for an execution to go on: of its conversation, for a program of one that the journal has. */
export async function readResumedHeader(journal: Journal, execution: string): Promise<Header | undefined> {
  const own = await readHeader(journal, execution, HOST);
  const whole = own?.parent && (await findIfKnown(journal, own.parent.execution));
  return whole ? await readHeader(journal, whole.execution, HOST) : own;
}
