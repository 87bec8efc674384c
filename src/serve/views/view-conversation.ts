import { childExecution, clientEnding } from "../../conversations/index.ts";
import {
  HELD_CONVERSATION,
  type PastConversation,
  readPastConversation,
  standingOfConversation,
  toldResult,
  type TranscriptTurn,
  userMessages,
  waitingCallsOf,
} from "../../conversations/from-journal/index.ts";
import { messageText, type SaidMessage } from "../../conversations/prompt/said-message.ts";
import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import type { ConversationHeader } from "../../journal/record.ts";
import { limitsOf } from "../../executions/limits.ts";
import { Lane, pick, readPlainData, textOf } from "../../base/index.ts";
import { baseOf, outcomeView, waitingViews } from "./parts/base-view.ts";
import { readRecords } from "../../journal/reading/index.ts";
import { callViews } from "./parts/call-views.ts";
import { eventViews } from "./parts/event-views.ts";
import { conversationFunnel } from "./parts/funnel-view.ts";
import { endingHead } from "../../executions/from-journal/index.ts";
import { titleOf, titleOfProgram } from "./title.ts";
import { type TextAllowance, textAllowance, headOf, type TextBounds } from "./parts/text-allowance.ts";
import type {
  ConversationView,
  HostedCallView,
  LimitView,
  ModelTurnView,
  ProgramCallView,
  SaidView,
  TextHead,
} from "./view.ts";

/** The view of one conversation. Rejects with `journal_invalid`, and as the journal does. */
export async function viewConversation(
  journal: Journal,
  summary: ExecutionSummary,
  header: ConversationHeader,
  bounds: TextBounds,
): Promise<ConversationView> {
  const past = await readPastConversation(journal, header.execution, header.tenant);
  const room = textAllowance(bounds);
  const { calls, events, lastAt } = await readCalls(journal, past, room);
  const standing = standingOfConversation(past);
  const waiting = waitingViews(waitingCallsOf(past));
  const ending = past.outcome && (await new Lane(header.tenant).work(endingHead(past.outcome.outcome)));
  const outcome = ending && outcomeView(bounds.forClient ? clientEnding(ending) : ending);
  const output = answerOf(past, bounds);
  const base = baseOf(journal, summary, header);
  const [first = ""] = userMessages(past);
  return {
    ...base,
    kind: "conversation",
    title: titleOf(header, messageText(first)),
    state: standing.state,
    lastAt,
    records: past.records,
    outcome,
    output,
    waiting,
    calls: calls.all({ header, driven: base.driven, waiting }),
    limits: limitViews(past),
    funnel: conversationFunnel(
      past.use.lines,
      past.turns.flatMap(({ results }) => [...results.values()]),
    ),
    events: events.all(),
    notes: standing.state === "waiting" && standing.held ? [HELD_CONVERSATION] : (past.outcome?.notes ?? []),
    artifacts: past.artifacts.map((one) => pick(one, "name", "bytes", "shape", "call")),
    model: past.answering.model,
    task: header.task,
    turns: turnViews(past, room),
    said: past.said.map((message) => saidView(message, room)),
    rests: standing.state === "waiting" && standing.rests && standing.held === undefined,
  };
}

/** The direct calls, and the events beside them. Reads the records again: `past` has the turns without their times. */
async function readCalls(journal: Journal, past: PastConversation, room: TextAllowance) {
  const calls = callViews(room);
  const events = eventViews();
  const { execution, tenant } = past.header;
  let lastAt = 0;
  let turn = 0;
  for await (const record of readRecords(journal, execution, { tenant })) {
    if ("at" in record) lastAt = Math.max(lastAt, record.at);
    if (record.type === "message" && record.from === "model") {
      for (const call of past.turns[turn]?.turn.calls ?? [])
        if (call.type === "tool_call") calls.make({ ...call, at: record.at });
      turn += 1;
    }
    // A call with a result in the transcript has ended before its conversation.
    if (record.type !== "outcome") calls.note(record);
    events.note(record);
  }
  for (const { results } of past.turns)
    for (const result of results.values())
      calls.tell(result.callId, { ...toldResult(result, lastAt), body: result.text });
  if (past.outcome) calls.note(past.outcome);
  return { calls, events, lastAt };
}

function turnViews({ header, turns, use }: PastConversation, room: TextAllowance): readonly ModelTurnView[] {
  const tools = new Set(header.tools.map(({ name }) => name));
  const ofPrograms = use.lines.filter(({ callId }) => callId.includes("/"));
  const linesByCall = Map.groupBy(ofPrograms, ({ callId }) => callId.split("/")[0]);
  const programView = (id: string, source: string): ProgramCallView => ({
    id,
    title: titleOfProgram(source, tools),
    source: room.head(source),
  });
  return turns.map(({ said: messages, turn, model, results, at }) => {
    const { calls, hosted, end, usage, text } = turn;
    const own = calls.flatMap((call): ProgramCallView[] => {
      if (call.type !== "program_call") return [];
      const result = results.get(call.id);
      const lines = linesByCall.get(call.id) ?? [];
      const totals = { calls: lines.length, fetched: lines.reduce((sum, { bytes }) => sum + bytes, 0) };
      const execution = childExecution(header.execution, call.id);
      const program = programView(call.id, call.source ?? "");
      const head = result && room.head(result.text);
      return [{ ...program, execution, ...totals, result: head, isError: result?.isError }];
    });
    const atProvider = hosted.flatMap((news) =>
      news.type === "hosted_program_started" ? programView(news.program, news.source) : [],
    );
    return {
      said: messages.map((one) => saidView(one, room)),
      text: room.message(text),
      model,
      at,
      end: end.type,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      calls: calls.flatMap(({ type, id }) => (type === "tool_call" ? id : [])),
      programs: [...own, ...atProvider],
      hosted: hostedCalls(hosted),
      citations: turn.citations ?? [],
    };
  });
}

/** The calls that a provider made itself, each with its end if this turn tells of it. */
function hostedCalls(hosted: TranscriptTurn["turn"]["hosted"]): HostedCallView[] {
  const calls = new Map<string, HostedCallView>();
  for (const news of hosted) {
    if (!("call" in news)) continue;
    const { call: id, tool } = news;
    const entry = calls.get(id) ?? { id, tool, input: "", sources: [] };
    if (news.type === "hosted_call_started") calls.set(id, { ...entry, input: news.input });
    else {
      const { isError, output, sources } = news;
      calls.set(id, { ...entry, isError, sources, output });
    }
  }
  return [...calls.values()];
}

function saidView({ by, message }: SaidMessage, room: TextAllowance): SaidView {
  return { by, text: room.message(messageText(message)) };
}

function answerOf({ outcome, rest }: PastConversation, { all }: TextBounds): TextHead | undefined {
  const read = readPlainData(outcome?.outcome ?? rest?.ending ?? "");
  const answer = read.ok ? textOf(read.value, "answer") : undefined;
  return answer === undefined ? undefined : headOf(answer, all);
}

function limitViews({ header, turns, usage, use }: PastConversation): readonly LimitView[] {
  const { calls, totalBytes } = limitsOf(header);
  return [
    { name: "maxTurns", used: turns.length, allowed: header.maxTurns },
    { name: "maxTokens", used: usage.inputTokens + usage.outputTokens, allowed: header.maxTokens },
    { name: "calls", used: use.calls, allowed: calls },
    { name: "totalBytes", used: use.inputBytes + use.resultBytes, allowed: totalBytes },
  ].filter(({ allowed }) => Number.isFinite(allowed) && allowed > 0);
}
