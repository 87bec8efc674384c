import { hash } from "node:crypto";
import { causeOf } from "../../gate/sentences.ts";
import type { ModelTurn, TurnEnd } from "../../models/model.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import type { AgentEnding } from "../ending.ts";
import { inOneLine } from "../../models/turn/content-parts.ts";
import { cleanText } from "../../base/index.ts";
import type { KeptTurn } from "../from-journal/conversation-state.ts";
import { COMPACT_SHARE } from "../prompt/compact.ts";
import type { Notice, SaidMessage } from "../prompt/said-message.ts";

const MAX_SAME = 3;
/** Share of `contextTokens` after which the model is asked to answer with what it has. */
const FULL_SHARE = 0.95;

const NAME_LENGTH = 200;

const TEXTS: Readonly<Record<Notice, (why: string) => string>> = {
  wrap_up: (why) =>
    `This is your last turn: ${why}. Make no calls. Answer now with what you have, and say what is missing.`,
  stuck: (why) => `${why} It will not be different next time. Do something else, or answer with what you have.`,
  cut_off: (why) =>
    `Your last turn was cut off, and nothing of it was done (${why}). Do less in one turn: a shorter program, fewer calls, or a brief answer.`,
  turn_invalid: (why) =>
    `Your last turn could not be used, and nothing of it was done: ${why}. Call only tools that are declared, each with input as its schema says, and make fewer calls in one turn.`,
  answer_invalid: (why) => `Your answer does not fit the schema: ${why} Give the whole answer again, as JSON alone.`,
};

export function noticeOf(notice: Notice, why: string): SaidMessage {
  return { by: "host", message: `[host] ${TEXTS[notice](why)}`, why: notice };
}

/** Where a result names what was kept of it because it is large: each time another name. */
const KEPT_NAME = /(?<="artifact":"|load\(\\?")(?:result|printed)(?:-\d{1,9})?(?=\\?")/g;

/** What a turn asked and was answered, without ids and times, which differ from turn to turn. */
function signatureOf(one: KeptTurn): string {
  const calls = one.turn.calls.map((call) => {
    const what = call.type === "tool_call" ? [call.tool, call.inputText] : ["", call.source];
    const result = one.results.get(call.id);
    // Without what differs each time although the answer is the same.
    const text = result?.text.replaceAll(causeOf(call.id), "").replaceAll(KEPT_NAME, "");
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

export function isNearlyFull(last: ModelTurn, contextTokens: number): boolean {
  return tokensOf(last) > contextTokens * COMPACT_SHARE;
}

interface RemainingBudget {
  readonly turns: number;
  readonly tokens: number;
  readonly contextTokens: number;
}

export function whyWrapUp(last: ModelTurn, left: RemainingBudget): string | undefined {
  const tokens = tokensOf(last);
  if (left.turns === 1) return "no further turn is left";
  if (tokens > 0 && left.tokens < 2 * tokens) return "the tokens for this conversation are nearly spent";
  return tokens > left.contextTokens * FULL_SHARE ? "your context is nearly full" : undefined;
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
