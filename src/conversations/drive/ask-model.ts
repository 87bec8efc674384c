import { hash } from "node:crypto";
import { callCause } from "../../gate/sentences.ts";
import {
  type ModelTurn,
  type TurnEnd,
  type HostedNews,
  type ModelCall,
  NO_USAGE,
  type ToolChoice,
  type TurnReply,
} from "../../models/model.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import type { AgentEnding, AgentEvent } from "../event.ts";
import { inOneLine } from "../../models/turn/content-parts.ts";
import { cleanText, fieldOf, isFields, now, parsedJson, PortcullisError, readerOf, textOf } from "../../base/index.ts";
import {
  type KeptTurn,
  turnsOfSend,
  hasLongNames,
  MAX_ID_LENGTH,
  MAX_TURN_CALLS,
  MAX_TURN_HOSTED,
} from "../from-journal/conversation-state.ts";
import { COMPACT_SHARE, compactTurns, CONTEXT_TOKENS, dropOldResults } from "../prompt/compact.ts";
import { type Notice, type SaidMessage, isNoticed } from "../prompt/said-message.ts";
import type { GateSession } from "../../gate/session.ts";
import { leavesOpen } from "../../journal/execution-log.ts";
import type { ChatEnd, ConversationSpan } from "../../gate/telemetry/telemetry.ts";
import type { AgentScope } from "../agent-scope.ts";
import { toolOf } from "../calls/call-result.ts";
import type { EventFields } from "../../gate/call-event.ts";
import { endingCancelled } from "../../executions/drive/ending/endings.ts";
import { ownVersion } from "../../executions/from-journal/changed-since.ts";
import type { LiveConversation } from "./live-conversation.ts";

const MAX_SAME = 3;
/** Share of `contextTokens` after which the model is asked to answer with what it has. */
const FULL_SHARE = 0.95;

const NAME_LENGTH = 200;

/** `WHY` stands for what the host says. */
const TEXTS: Readonly<Record<Notice, string>> = {
  wrap_up: "This is your last turn: WHY. Make no calls. Answer now with what you have, and say what is missing.",
  stuck: "WHY It will not be different next time. Do something else, or answer with what you have.",
  cut_off:
    "Your last turn was cut off, and nothing of it was done (WHY). Do less in one turn: a shorter program, fewer calls, or a brief answer.",
  turn_invalid:
    "Your last turn could not be used, and nothing of it was done: WHY. Call only tools that are declared, each with input as its schema says, and make fewer calls in one turn.",
  answer_invalid: "Your answer does not fit the schema: WHY Give the whole answer again, as JSON alone.",
};

export function noticeOf(notice: Notice, why: string): SaidMessage {
  return { by: "host", message: `[host] ${TEXTS[notice].replace("WHY", () => why)}`, why: notice };
}

/** Where a result names what was kept of it because it is large: each time another name. */
const KEPT_NAME = /(?<="artifact":"|load\(\\?")(?:result|printed)(?:-\d{1,9})?(?=\\?")/g;

/** What a turn asked and was answered, without ids and times, which differ from turn to turn. */
function signatureOf(one: KeptTurn): string {
  const calls = one.turn.calls.map((call) => {
    const what = call.type === "tool_call" ? [call.tool, call.inputText] : ["", call.source];
    const result = one.results.get(call.id);
    // Without what differs each time although the answer is the same.
    const text = result?.text.replaceAll(callCause(call.id), "").replaceAll(KEPT_NAME, "");
    return hash("sha256", JSON.stringify([...what, text, result?.isError]));
  });
  return [...new Set(calls)].toSorted().join();
}

interface Repetition {
  readonly times: number;
  readonly tool: string;
}

/** Whether a model that repeats itself is told, or its conversation ends; undefined if it does not repeat itself. */
export function findRepetition(turns: readonly KeptTurn[]): Repetition | undefined {
  const last = turns.at(-1);
  const [call] = last?.turn.calls ?? [];
  if (!last || !call) return undefined;
  const signature = signatureOf(last);
  const times = turns.length - 1 - turns.findLastIndex((one) => signatureOf(one) !== signature);
  // A model may write anything as the name of a tool.
  const tool = inOneLine(call.type === "tool_call" ? call.tool : RUN_PROGRAM, NAME_LENGTH);
  return times >= MAX_SAME ? { times, tool } : undefined;
}

export function stuckText({ times, tool }: Repetition): string {
  return `You have made the same call of ${JSON.stringify(tool)} ${times} times in a row, with the same answer each time.`;
}

export function stuckEnding({ times, tool }: Repetition): AgentEnding {
  return { type: "stuck", tool: cleanText(tool), times };
}

/** Tokens that the next turn will read at least: what the last turn read and wrote. */
function tokensOf({ usage }: ModelTurn): number {
  return usage.inputTokens + usage.outputTokens;
}

function isNearlyFull(last: ModelTurn, contextTokens: number): boolean {
  return tokensOf(last) > contextTokens * COMPACT_SHARE;
}

interface RemainingBudget {
  readonly turns: number;
  readonly tokens: number;
  readonly contextTokens: number;
}

function whyWrapUp(last: ModelTurn, budget: RemainingBudget): string | undefined {
  const tokens = tokensOf(last);
  if (budget.turns === 1) return "no further turn is left";
  if (tokens > 0 && budget.tokens < 2 * tokens) return "the tokens for this conversation are nearly spent";
  return tokens > budget.contextTokens * FULL_SHARE ? "your context is nearly full" : undefined;
}

/** The ending with a turn that does not count; undefined for a turn that does. */
export function endingOfBadTurn(end: TurnEnd): AgentEnding | undefined {
  if (end.type === "refused" || end.type === "cut_off") return end;
  if (end.type !== "invalid") return undefined;
  const message = `A turn of the model could not be used, and nothing of it was done: ${end.reason}.`;
  return { type: "provider_failed", failure: { code: "reply_invalid", message } };
}

/** What was wrong with a turn, if the model can mend it once it is told. */
export function mendable(
  end: TurnEnd,
  ending: AgentEnding,
): { readonly notice: Notice; readonly why: string } | undefined {
  if (end.type === "cut_off") return { notice: "cut_off", why: end.reason };
  if (end.type === "invalid") return { notice: "turn_invalid", why: end.reason };
  return ending.type === "answer_invalid" ? { notice: "answer_invalid", why: ending.reason } : undefined;
}

/** One driving of a conversation, from a message of the user to the next ending. */
export interface Sending {
  readonly live: LiveConversation;
  /** Has the signal that ends this driving. */
  readonly scope: AgentScope;
  /** The calls have a session of the gate of their own, which goes on from what was used before. */
  readonly session: GateSession;
  readonly span: ConversationSpan | undefined;
  /** Whether the model is asked: what waits for approval then has not stopped the conversation. */
  isAsking: boolean;
}

/**
 * Asks for a turn. Before, a long history is made shorter, and the model is told that its last turn has come; if a model fails for
 * good, the next model goes on. An ending means that there is no turn.
 */
export async function askModel(sending: Sending): Promise<ModelTurn | AgentEnding> {
  const {
    scope: { signal },
    session: { budget },
  } = sending;
  if (signal.aborted) return cancelledEnding(signal);
  // Agents that share the budget may have used the remaining tokens.
  if (budget.tokensLeft <= 0) return tokensSpent(budget);
  sending.isAsking = true;
  await compact(sending);
  const isLast = await wrapsUp(sending);
  let reply = await takeReply(sending, isLast);
  while (reply.type === "failed" && !signal.aborted && (await fallBack(sending)))
    reply = await takeReply(sending, isLast);
  sending.isAsking = false;
  if (reply.type === "turn") return reply;
  return reply.type === "aborted" || signal.aborted
    ? cancelledEnding(signal)
    : { type: "provider_failed", failure: reply.failure };
}

async function takeReply({ live, scope, session, span }: Sending, isLast: boolean): Promise<TurnReply> {
  const { signal, onEvent: tell } = scope;
  const { budget } = session;
  const { execution, state, log } = live;
  const conversation = await live.conversation();
  const reasoning: string[] = [];
  const turn = async () => {
    const turnReply = await conversation.turn({
      signal,
      reader: readerOf(session.share, signal),
      maxTokens: budget.tokensLeft,
      toolChoice: toolChoiceOf(live, isLast),
      onText: (text) => tell({ type: "text", execution, text }),
      onReasoning: (text) => {
        reasoning.push(text);
        tell({ type: "reasoning", execution, text });
      },
      onArgument: (piece) => tell({ type: "argument", execution, ...piece }),
      onRetry: ({ attempt, reason, delayMs }) =>
        log.append({ type: "retry", attempt, reason: cleanText(reason), delayMs, at: now() }),
    });
    return asRecorded(turnReply, reasoning.join(""));
  };
  const model = live.model.name;
  const reply = await (span ? span.chat(model, turn, endOfTurn) : turn());
  if (reply.type === "aborted") return reply;
  const usage = reply.usage ?? NO_USAGE;
  budget.takeTokens(usage);
  const { text, calls } = reply.type === "turn" ? reply : { text: "", calls: [] };
  const about = calls.map((call) => ({ callId: call.id, tool: toolOf(call) }));
  tell({ type: "turn_ended", execution, turn: state.turns.length + 1, text, calls: about, usage });
  if (reply.type !== "turn") return reply;
  const { unreadParts: parts } = reply;
  if (parts) tell({ type: "parts_unread", execution, model, parts });
  const reason = whatIsWrong(reply) ?? (isLast ? undefined : whatIsUnread(reply, live));
  if (reason !== undefined) return { ...reply, calls: [], hosted: [], end: { type: "invalid", reason } };
  for (const news of reply.hosted) tell(hostedEvent(news, execution));
  return reply;
}

/** Of an answer that is to fit a schema, the schema says what it is. */
function whatIsUnread({ text, calls, end }: ModelTurn, { request, scope }: LiveConversation): string | undefined {
  if (end.type !== "answered" || calls.length > 0 || request.settings?.answer) return undefined;
  return endsWithCall(text, [RUN_PROGRAM, ...scope.gate.tools.all.map(({ name }) => name)])
    ? "it has a call in its text, which the model's server has not read as one"
    : undefined;
}

async function fallBack({ live, scope, session }: Sending): Promise<boolean> {
  const { execution } = live;
  // Each once. Models of one name may be at different addresses.
  const fallbacks = [...new Set(live.request.fallbacks)];
  for (const model of fallbacks.slice(fallbacks.indexOf(live.model) + 1)) {
    if (session.budget.tokensLeft <= 0) return false;
    try {
      await live.changeModel(model);
      scope.onEvent({ type: "model_changed", execution, model: model.name });
      return true;
    } catch (error) {
      if (!PortcullisError.is(error) || !REFUSED.has(error.code)) throw error;
      scope.onEvent({ type: "fallback_refused", execution, model: model.name, reason: error.message });
    }
  }
  return false;
}

/** Makes the history shorter if the context is nearly full, but not while a program at the provider waits. */
async function compact({ live, scope }: Sending): Promise<void> {
  const { request, state } = live;
  // Whether a call can be made again without changing anything. What a program has called is not looked at.
  const onlyReads = (call: ModelCall) => {
    const tool = call.type === "tool_call" ? scope.gate.tools.get(call.tool) : undefined;
    return tool?.effect === "read" && !tool.effectOf;
  };
  const { compact: shorten = (history) => dropOldResults(history, onlyReads), contextTokens = CONTEXT_TOKENS } =
    request;
  const last = state.sent.at(-1)?.turn;
  if (shorten === "provider" || !last || !isNearlyFull(last, contextTokens) || isOfProgram(last)) return;
  if (!(await live.conversation()).restore) return;
  const kept = await compactTurns(state.sent, shorten);
  if (kept) await live.compact(kept);
}

async function wrapsUp({ live, session }: Sending): Promise<boolean> {
  const { request, state } = live;
  if (isNoticed(state.said, "wrap_up")) return true;
  const turns = turnsOfSend(state);
  const { maxTurns, contextTokens = CONTEXT_TOKENS, wrapUp = true } = request;
  const last = turns.at(-1)?.turn;
  // A provider that makes the history shorter keeps the context from being full.
  const room = request.compact === "provider" ? Infinity : contextTokens;
  const budget = { turns: maxTurns - turns.length, tokens: session.budget.tokensLeft, contextTokens: room };
  const why = wrapUp && last && !isOfProgram(last) ? whyWrapUp(last, budget) : undefined;
  if (why === undefined) return false;
  await live.say([noticeOf("wrap_up", why)]);
  return true;
}

/** A forced choice holds until the first call after a message of the user. */
function toolChoiceOf({ request, state }: LiveConversation, isLast: boolean): ToolChoice | undefined {
  if (isLast) return "none";
  const chosen = request.settings?.toolChoice;
  const isForced = chosen !== undefined && chosen !== "auto" && chosen !== "none";
  return isForced && turnsOfSend(state).some(({ turn }) => turn.calls.length > 0) ? "auto" : undefined;
}

function hostedEvent(news: HostedNews, execution: string): EventFields<AgentEvent> {
  switch (news.type) {
    case "hosted_program_started":
      return { type: "program_started", execution, callId: news.program, hosted: true, source: news.source };
    case "hosted_program_ended": {
      const { program: callId, isError, files } = news;
      return { type: "program_ended", execution, callId, hosted: true, isError, files };
    }
    default: {
      const { call: callId, ...fields } = news;
      return { execution, callId, ...fields };
    }
  }
}

/** The ending of a conversation whose signal is aborted. Throws the reason if another driver goes on with it. */
export function cancelledEnding(signal: AbortSignal): AgentEnding {
  checkOwned(signal);
  return endingCancelled(signal.reason);
}

/** Throws if the conversation belongs to another driver now, or is left to the next one. */
export function checkOwned({ reason }: AbortSignal): void {
  if (leavesOpen(reason)) throw reason;
}

/** The effective allowance is also capped by the caller's remaining budget. */
export function tokensSpent({ tokens, tokensLeft }: GateSession["budget"]): AgentEnding {
  return { type: "tokens_spent", allowed: Math.max(0, tokens + tokensLeft), seen: tokens };
}

const REFUSED: ReadonlySet<string> = new Set(["option_invalid", "model_unavailable"]);

/** Whether a program at the provider waits for results of this turn, or for its provider. */
function isOfProgram({ calls, end }: ModelTurn): boolean {
  return end.type === "unfinished" || calls.some((call) => call.type === "tool_call" && call.caller === "programmatic");
}

function asRecorded(reply: TurnReply, reasoning: string): TurnReply {
  if (reply.type !== "turn") return reply;
  const portcullis = ownVersion();
  return {
    ...reply,
    reasoning: reasoning || undefined,
    ...(reply.origin && portcullis !== undefined && { origin: { ...reply.origin, portcullis } }),
  };
}

/** Models answer with nothing at times, above all after results. It would be taken for the answer. */
function whatIsWrong({ text, calls, hosted, end }: ModelTurn): string | undefined {
  if (calls.length > MAX_TURN_CALLS)
    return `it makes ${calls.length} calls, more than the ${MAX_TURN_CALLS} that one turn may make`;
  if (hosted.length > MAX_TURN_HOSTED)
    return `it tells ${hosted.length} times of what its provider ran itself, more than the ${MAX_TURN_HOSTED} times of one turn`;
  if (hasLongNames({ calls, hosted })) return `it has an id or a name of more than ${MAX_ID_LENGTH} characters`;
  const isEmpty = end.type === "answered" && text.trim() === "" && calls.length + hosted.length === 0;
  return isEmpty ? "it is empty, with no answer and no call" : undefined;
}

const FINISH_OF_EACH_END: Readonly<Record<TurnEnd["type"], string>> = {
  answered: "stop",
  called: "tool_calls",
  unfinished: "unfinished",
  refused: "content_filter",
  cut_off: "length",
  invalid: "error",
};

function endOfTurn(reply: TurnReply): ChatEnd {
  switch (reply.type) {
    case "turn":
      return { finish: FINISH_OF_EACH_END[reply.end.type], usage: reply.usage, origin: reply.origin };
    case "failed":
      return { code: reply.failure.code, usage: reply.usage };
    case "aborted":
      return { code: "aborted" };
  }
}

const LONGEST = 64 * 1024;
/** What models write before a call in the forms that servers read. */
const MARK =
  /<(?:[\w-]{1,20}:)?(?:tool_calls?|function_calls?|invoke|function)[ >=]|<\|(?:tool|python)_|\[TOOL_CALLS\]|```tool_code/;

/**
 * Whether an answer ends with a call of a tool in words: its server has not read the call, so nothing was made of it, and it is
 * no answer either.
 */
function endsWithCall(answer: string, tools: Iterable<string>): boolean {
  const text = answer.trim();
  if (text.length > LONGEST) return false;
  const start = text.search(MARK);
  // With and without what stands before a dot, as in `default_api.search`.
  const words = () => [/[\w.-]+/g, /[\w-]+/g].flatMap((word) => text.slice(start).match(word) ?? []);
  const names = new Set(start < 0 ? bareCall(text) : /[>\]}`]$/.test(text) ? words() : []);
  // Providers are told names without dots.
  return [...tools].some((tool) => names.has(tool) || names.has(tool.replaceAll(".", "_")));
}

function bareCall(text: string): readonly string[] {
  const call = parsedJson(text.replace(/^```(?:json)?\n([^]*)\n```$/, "$1"));
  const name = textOf(call, "name");
  return name !== undefined && isFields(fieldOf(call, "arguments") ?? fieldOf(call, "parameters")) ? [name] : [];
}
