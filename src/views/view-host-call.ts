import type { ExecutionSummary, Journal } from "../journal/journal.ts";
import type { CallHeader, CallRecord, OutcomeRecord } from "../journal/record.ts";
import { fieldOf, textOf } from "../values/fields.ts";
import { readPlainData } from "../values/plain-data.ts";
import { baseOf } from "./base-view.ts";
import { CallViews } from "./call-views.ts";
import { EventViews } from "./event-views.ts";
import { partOf } from "./funnel-view.ts";
import { outcomeView } from "./outcome-view.ts";
import { headOf, TextRoom, type TextBounds } from "./text-room.ts";
import type { HostCallView } from "./view.ts";
import { WaitingViews } from "./waiting-views.ts";

/** The view of one call of a host. Rejects as the journal does. */
export async function viewHostCall(
  journal: Journal,
  summary: ExecutionSummary,
  header: CallHeader,
  bounds: TextBounds,
): Promise<HostCallView> {
  const { tool, caller, input } = header;
  const calls = new CallViews(new TextRoom(bounds));
  const events = new EventViews();
  let lastAt = header.startedAt;
  let records = 0;
  let decided: CallRecord | undefined;
  let outcome: OutcomeRecord | undefined;
  for await (const record of journal.read(header.execution)) {
    records += 1;
    if ("at" in record) lastAt = record.at;
    if (record.type === "call" && decided === undefined)
      calls.make({ id: record.call, tool, caller, inputText: input, made: 0, at: header.startedAt });
    if (record.type === "call") decided = record;
    if (record.type === "outcome") outcome = record;
    calls.note(record);
    events.note(record);
  }
  const waiting = new WaitingViews();
  if (!outcome && decided) waiting.take(header, [{ id: decided.call, tool, inputText: input, decided }]);
  const text = outcome && resultOf(outcome);
  if (text !== undefined && decided)
    calls.tell(decided.call, 1, { ok: calls.all[0]?.state === "value", body: text, at: lastAt });
  const [call] = calls.all;
  const fetched = partOf(text ?? "", true);
  return {
    ...baseOf(journal, summary, header),
    kind: "call",
    state: outcome ? "ended" : waiting.all.length > 0 ? "waiting" : "running",
    lastAt,
    records,
    ...(outcome && { outcome: outcomeView(outcome.outcome) }),
    ...(text !== undefined && { output: headOf(text, bounds.all) }),
    waiting: waiting.all,
    calls: calls.all,
    limits: [],
    funnel: { fetched: call?.state === "value" ? fetched : { bytes: 0, tokens: 0 }, returned: fetched },
    events: events.all,
    notes: outcome?.notes ?? [],
    artifacts: [],
  };
}

/** The value, or the message in its place. */
function resultOf({ outcome }: OutcomeRecord): string | undefined {
  const read = readPlainData(outcome);
  if (!read.ok) return undefined;
  const value = fieldOf(read.value, "value");
  return value === undefined ? textOf(read.value, "message") : JSON.stringify(value);
}
