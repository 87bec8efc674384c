import { HOST_CALL } from "../../gate/answer.ts";
import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import { readRecords } from "../../journal/reading/index.ts";
import type { CallHeader, OutcomeRecord } from "../../journal/record.ts";
import {
  applyRecord,
  endingHead,
  ExecutionState,
  standingOf,
  waitingCalls,
} from "../../executions/from-journal/index.ts";
import { fieldTexts, textOf } from "../../base/index.ts";
import { baseOf, outcomeView, waitingViews } from "./parts/base-view.ts";
import { CallViews } from "./parts/call-views.ts";
import { EventViews } from "./parts/event-views.ts";
import { partOf, TokenCount } from "./parts/funnel-view.ts";
import { TextAllowance, headOf, type TextBounds } from "./parts/text-allowance.ts";
import type { HostCallView } from "./view.ts";

/** The view of one call of a host. Rejects as the journal does. */
export async function viewHostCall(
  journal: Journal,
  summary: ExecutionSummary,
  header: CallHeader,
  bounds: TextBounds,
): Promise<HostCallView> {
  const { tool, caller, input } = header;
  const calls = new CallViews(new TextAllowance(bounds));
  calls.make({ id: HOST_CALL, tool, caller, inputText: input, at: header.startedAt });
  const events = new EventViews();
  let lastAt = header.startedAt;
  const state = new ExecutionState();
  let outcome: OutcomeRecord | undefined;
  const records = readRecords(journal, header.execution, { tenant: header.tenant });
  for await (const record of records) {
    applyRecord(state, record);
    if ("at" in record) lastAt = record.at;
    if (record.type === "outcome") outcome = record;
    calls.note(record);
    events.note(record);
  }
  const base = baseOf(journal, summary, header);
  const waiting = waitingViews([{ calls: waitingCalls(state, base.driven), tools: header.tools }]);
  const ending = outcome && (await records.lane.work(endingHead(outcome.outcome)));
  const values = outcome && (await records.lane.work(fieldTexts(outcome.outcome)));
  const text = values?.get("value") ?? textOf(ending, "message");
  const ok = textOf(ending, "type") === "completed";
  if (text !== undefined) calls.tell(HOST_CALL, { ok, body: text, at: lastAt, code: () => textOf(ending, "code") });
  const views = calls.all({ header, driven: base.driven, waiting });
  // The journal does not hold the items that the host was given.
  const streamed = views.find(({ items }) => items !== undefined);
  const items = streamed && new TokenCount().of(streamed.bytes);
  const returned = ok && items ? items : partOf(text ?? "", true);
  return {
    ...base,
    kind: "call",
    state: standingOf(state, base.driven).state,
    lastAt,
    records: state.records,
    ...(ending && { outcome: outcomeView(ending) }),
    ...(text !== undefined && { output: headOf(text, bounds.each) }),
    waiting,
    calls: views,
    limits: [],
    funnel: { fetched: items ?? (ok ? returned : { bytes: 0, tokens: 0 }), returned },
    events: events.all,
    notes: outcome?.notes ?? [],
    artifacts: [],
  };
}
