import type { GuestFrame } from "../../../bridge/frames.ts";
import { MalformedFrame, parseGuestFrame } from "../../../bridge/parse-frame.ts";
import type { ExecutionId } from "../../base/index.ts";
import type { Journal } from "../../journal/journal.ts";
import { readRecords, type Records } from "../../journal/reading/read-records.ts";

/**
 * Number of records at the journal's end that are searched for the last turn; the second if the first is too small. The
 * outcome follows that turn, and late decisions may. An earlier record may be as large as the program's calls.
 */
const LAST_RECORDS = [2, 64];

/** JSON text of the whole value that a program has returned; undefined without one. Rejects as the journal does. */
export async function returnedText(journal: Journal, execution: ExecutionId): Promise<string | undefined> {
  const { records, tenant } = await journal.find(execution);
  for (const last of LAST_RECORDS) {
    const settled = await lastSettled(readRecords(journal, execution, { tenant, from: Math.max(0, records - last) }));
    if (settled) return settled.ok ? settled.body : undefined;
  }
  return undefined;
}

async function lastSettled(records: Records): Promise<Settled | undefined> {
  let settled: Settled | undefined;
  for await (const record of records) {
    // `settled` is the last command of its turn.
    const last = record.type === "turn" ? record.commands.at(-1) : undefined;
    const frame = last === undefined ? undefined : parseGuestFrame(last);
    if (frame && !(frame instanceof MalformedFrame) && frame.kind === "settled") settled = frame;
  }
  return settled;
}

type Settled = GuestFrame & { readonly kind: "settled" };
