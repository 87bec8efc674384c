import { type ExecutionId, PortcullisError, REMEDIES, fieldTexts, textOf } from "../../base/index.ts";
import type { Journal, ExecutionSummary } from "../../journal/journal.ts";
import { readHeader, readRecords } from "../../journal/reading/index.ts";
import type { Header, CallHeader, OutcomeRecord } from "../../journal/record.ts";
import {
  invalidAt,
  applyRecord,
  endingHead,
  ExecutionState,
  standingOf,
  waitingCalls,
} from "../../executions/from-journal/index.ts";
import { type TextBounds, textAllowance, headOf } from "./parts/text-allowance.ts";
import type { CallTexts, CallView, ExecutionView, HostCallView } from "./view.ts";
import { viewConversation } from "./view-conversation.ts";
import { viewProgram } from "./view-program.ts";
import { startedBy } from "../../conversations/index.ts";
import { HOST_CALL } from "../../gate/answer.ts";
import { baseOf, outcomeView, waitingViews } from "./parts/base-view.ts";
import { callViews } from "./parts/call-views.ts";
import { eventViews } from "./parts/event-views.ts";
import { partOf, tokenCount } from "./parts/funnel-view.ts";

/** What a view holds of texts that grow with an execution, unless its caller says otherwise. */
export const VIEW_BOUNDS: TextBounds = { each: 500, all: 2 * 1024 * 1024 };

/**
 * One execution, conversation or call as its journal tells of it: plain JSON, made in one pass. Inputs and results are
 * shown by their beginnings; `viewCall` gives the whole. Data that only a provider can read is not in it. The caller
 * checks whether the reader may see it. Rejects with `execution_unknown`, `journal_invalid`, and as the journal does.
 */
export async function viewExecution(
  journal: Journal,
  execution: ExecutionId,
  bounds: TextBounds = VIEW_BOUNDS,
): Promise<ExecutionView> {
  const summary = await journal.find(execution);
  const header = await readHeader(journal, execution, summary);
  switch (header?.kind) {
    case "program":
      return viewProgram(journal, summary, header, bounds);
    case "conversation":
      return viewConversation(journal, summary, header, bounds);
    case "call":
      return viewHostCall(journal, summary, header, bounds);
    default:
      throw invalidAt(execution, 0, "it is no header");
  }
}

/**
 * The whole texts of one call, by the id that `decide` takes: `call_2/3` is call 3 of the program of `call_2`. `check` throws
 * for an execution on the way whose calls the reader may not see. Rejects with `call_unknown`, and as `viewExecution` does.
 */
export async function viewCall(
  journal: Journal,
  execution: ExecutionId,
  id: string,
  check: (header: Header) => unknown,
): Promise<CallTexts> {
  const slash = id.indexOf("/");
  if (slash > 0) {
    const header = await startedBy(journal, await journal.find(execution), id.slice(0, slash));
    if (!header) throw callUnknown(execution, id);
    await check(header);
    return { ...(await viewCall(journal, header.execution, id.slice(slash + 1), check)), id };
  }
  const whole = { each: Number.MAX_SAFE_INTEGER, all: Number.MAX_SAFE_INTEGER, only: id };
  const { calls, waiting } = await viewExecution(journal, execution, whole);
  const call: Partial<CallView> | undefined =
    calls.find((one) => one.id === id) ?? waiting.find((one) => one.id === id);
  if (!call?.input || call.tool === undefined) throw callUnknown(execution, id);
  return {
    id,
    tool: call.tool,
    input: call.input.text,
    rawInput: call.rawInput?.text,
    result: call.result?.text,
  };
}

function callUnknown(execution: ExecutionId, id: string): PortcullisError {
  return new PortcullisError(
    "call_unknown",
    `Execution ${JSON.stringify(execution)} has no call ${JSON.stringify(id)}. ${REMEDIES.call_unknown}`,
  );
}

async function viewHostCall(
  journal: Journal,
  summary: ExecutionSummary,
  header: CallHeader,
  bounds: TextBounds,
): Promise<HostCallView> {
  const { tool, caller, input } = header;
  const calls = callViews(textAllowance(bounds));
  calls.make({ id: HOST_CALL, tool, caller, inputText: input, at: header.startedAt });
  const events = eventViews();
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
  const items = streamed && tokenCount().of(streamed.bytes);
  const returned = ok && items ? items : partOf(text ?? "", true);
  return {
    ...base,
    kind: "call",
    state: standingOf(state, base.driven).state,
    lastAt,
    records: state.records,
    outcome: ending && outcomeView(ending),
    output: text === undefined ? undefined : headOf(text, bounds.each),
    waiting,
    calls: views,
    limits: [],
    funnel: { fetched: items ?? (ok ? returned : { bytes: 0, tokens: 0 }), returned },
    events: events.all(),
    notes: outcome?.notes ?? [],
    artifacts: [],
  };
}
