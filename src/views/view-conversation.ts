import { childExecution } from "../agent/child-execution.ts";
import type { KeptTurn } from "../agent/history.ts";
import {
  isResting,
  type OpenModelCall,
  type PastConversation,
  readPastConversation,
  waitingOfConversation,
} from "../agent/past-conversation.ts";
import type { SaidMessage } from "../agent/said.ts";
import type { ExecutionSummary, Journal } from "../journal/journal.ts";
import type { ConversationHeader } from "../journal/record.ts";

import { limitsOf } from "../programs/limits.ts";
import { openCalls } from "../programs/waiting.ts";
import { textOf } from "../values/fields.ts";
import { readPlainData } from "../values/plain-data.ts";
import { baseOf } from "./base-view.ts";
import { ConversationCalls } from "./conversation-calls.ts";
import { partOf } from "./funnel-view.ts";
import { outcomeView } from "./outcome-view.ts";
import { headOf, TextRoom, type TextBounds } from "./text-room.ts";
import type {
  ConversationView,
  FunnelView,
  LimitView,
  ModelTurnView,
  ProgramCallView,
  SaidView,
  TextHead,
} from "./view.ts";
import { WaitingViews } from "./waiting-views.ts";

/** The view of one conversation. Rejects with `journal_invalid`, and as the journal does. */
export async function viewConversation(
  journal: Journal,
  summary: ExecutionSummary,
  header: ConversationHeader,
  bounds: TextBounds,
): Promise<ConversationView> {
  const past = await readPastConversation(journal, header.execution, header.tenant);
  const room = new TextRoom(bounds);
  const calls = await ConversationCalls.read(journal, past, room);
  const rests = isResting(past);
  const waiting = waitingViews(past);
  const waits = rests || waitingOfConversation(past) !== undefined;
  const outcome = past.outcome && outcomeView(past.outcome.outcome);
  const output = answerOf(past, bounds);
  return {
    ...baseOf(journal, summary, header),
    kind: "conversation",
    state: past.outcome ? "ended" : waits ? "waiting" : "running",
    lastAt: calls.lastAt,
    records: past.records,
    ...(outcome && { outcome }),
    ...(output && { output }),
    waiting,
    calls: calls.all,
    limits: limitViews(past),
    funnel: funnelOf(past),
    events: calls.events,
    notes: past.outcome?.notes ?? [],
    artifacts: past.artifacts.map(({ name, bytes, shape, call }) => ({ name, bytes, shape, call })),
    model: past.model,
    task: header.task,
    turns: past.turns.map((turn) => turnView(header, turn, room)),
    said: past.said.map((said) => saidView(said, room)),
    rests,
  };
}

function waitingViews({ header, open, outcome, rest }: PastConversation): ConversationView["waiting"] {
  const waiting = new WaitingViews();
  // The calls of a turn that was asked for alone are for the host to answer.
  if (outcome || rest) return [];
  for (const call of open.values()) takeWaiting(waiting, header, call);
  return waiting.all;
}

function takeWaiting(waiting: WaitingViews, header: ConversationHeader, call: OpenModelCall): void {
  const { program } = call;
  if (program) waiting.take(program.state.header ?? header, openCalls(program.state), `${call.id}/`);
  else waiting.take(header, [call]);
}

function turnView(header: ConversationHeader, { said, turn, model, results }: KeptTurn, room: TextRoom): ModelTurnView {
  const { calls, hosted, end, usage, text } = turn;
  const own = calls.flatMap((call): ProgramCallView[] => {
    if (call.type !== "program_call") return [];
    const result = results.get(call.id);
    return [
      {
        id: call.id,
        execution: childExecution(header.execution, call.id),
        source: room.head(call.source ?? ""),
        ...(result && { result: room.head(result.text), isError: result.isError }),
      },
    ];
  });
  const atProvider = hosted.flatMap((news): ProgramCallView[] =>
    news.type === "hosted_program_started" ? [{ id: news.program, source: room.head(news.source) }] : [],
  );
  return {
    said: said.map((one) => saidView(one, room)),
    text: room.head(text),
    model,
    end: end.type,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    calls: calls.flatMap(({ type, id }) => (type === "tool_call" ? [id] : [])),
    programs: [...own, ...atProvider],
  };
}

function saidView({ by, message }: SaidMessage, room: TextRoom): SaidView {
  const text =
    typeof message === "string"
      ? message
      : message.map((part) => (part.type === "text" ? part.text : `(${part.type} ${part.name ?? ""})`)).join("\n");
  return { by, text: room.head(text) };
}

/** The model's answer. */
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

function funnelOf({ use, turns }: PastConversation): FunnelView {
  const fetched = use.lines.reduce((sum, { bytes }) => sum + bytes, 0);
  const returned = partOf(
    turns.flatMap(({ results }) => [...results.values()].map(({ text }) => text)).join("\n"),
    true,
  );
  const perByte = returned.bytes === 0 ? 1 / 4 : returned.tokens / returned.bytes;
  return { fetched: { bytes: fetched, tokens: Math.round(fetched * perByte), estimated: true }, returned };
}
