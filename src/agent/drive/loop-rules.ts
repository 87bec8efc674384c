import type { ModelTurn } from "../../models/model.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import type { AgentEnding } from "../ending.ts";
import { inOneLine } from "../../models/turn/content-parts.ts";
import type { KeptTurn } from "../from-journal/conversation-state.ts";
import type { Notice, SaidMessage } from "../prompt/said-message.ts";

const MAX_SAME = 3;

const COMPACT_SHARE = 0.8;
/** Share of `contextTokens` after which the model is asked to answer with what it has. */
const FULL_SHARE = 0.95;

/** Length of the name of a tool that is told, in UTF-16 code units. */
const NAME_LENGTH = 200;

const TEXTS: Readonly<Record<Notice, (why: string) => string>> = {
  wrap_up: (why) =>
    `This is your last turn: ${why}. Make no calls. Answer now with what you have, and say what is missing.`,
  stuck: (why) => `${why} It will not be different next time. Do something else, or answer with what you have.`,
  cut_off: (why) =>
    `Your last turn was cut off, and nothing of it was done (${why}). Do less in one turn: a shorter program, fewer calls, or a brief answer.`,
  answer_invalid: (why) => `Your answer does not fit the schema: ${why} Give the whole answer again, as JSON alone.`,
};

export function noticeOf(notice: Notice, why: string): SaidMessage {
  return { by: "host", message: `[host] ${TEXTS[notice](why)}`, why: notice };
}

/** How often the model has made the same calls in a row with the same answers, up to the last of these turns. */
function timesInRow(turns: readonly KeptTurn[]): number {
  const last = turns.at(-1);
  if (!last || last.turn.calls.length === 0) return 0;
  const wanted = signatureOf(last);
  const before = turns.findLastIndex((one) => signatureOf(one) !== wanted);
  return turns.length - 1 - before;
}

/** What a turn asked and was answered, without ids and times, which differ from turn to turn. */
function signatureOf(one: KeptTurn): string {
  const calls = one.turn.calls.map((call) => {
    const what = call.type === "tool_call" ? [call.tool, call.inputText] : ["", call.source];
    const result = one.results.get(call.id);
    return JSON.stringify([...what, result?.text, result?.isError]);
  });
  return JSON.stringify([...new Set(calls)].toSorted());
}

/** Whether a model that repeats itself is told, or its conversation ends; undefined if it does not repeat itself. */
export function repeated(turns: readonly KeptTurn[]): { readonly times: number; readonly tool: string } | undefined {
  const times = timesInRow(turns);
  if (times < MAX_SAME) return undefined;
  const [call] = turns.at(-1)?.turn.calls ?? [];
  // A model may write anything as the name of a tool.
  return { times, tool: inOneLine(call?.type === "tool_call" ? call.tool : RUN_PROGRAM, NAME_LENGTH) };
}

export function stuckText({ times, tool }: { readonly times: number; readonly tool: string }): string {
  return `You have made the same call of ${JSON.stringify(tool)} ${times} times in a row, with the same answer each time.`;
}

/** Tokens that the next turn will read at least: what the last turn read and wrote. */
function tokensOf({ usage }: ModelTurn): number {
  return usage.inputTokens + usage.outputTokens;
}

export function isNearlyFull(last: ModelTurn | undefined, contextTokens: number): boolean {
  return last !== undefined && tokensOf(last) > contextTokens * COMPACT_SHARE;
}

export interface Left {
  readonly turns: number;
  readonly tokens: number;
  readonly contextTokens: number;
}

/** Why the next turn is the last turn that the model can use; undefined if it is not. */
export function whyWrapUp(last: ModelTurn | undefined, left: Left): string | undefined {
  if (!last) return undefined;
  const tokens = tokensOf(last);
  if (left.turns === 1) return "no further turn is left";
  if (tokens > 0 && left.tokens < 2 * tokens) return "the tokens for this conversation are nearly spent";
  return tokens > left.contextTokens * FULL_SHARE ? "your context is nearly full" : undefined;
}

/** Whether an ending can be mended by telling the model what was wrong. */
export function mendable(ending: AgentEnding): { readonly notice: Notice; readonly why: string } | undefined {
  if (ending.type === "cut_off") return { notice: "cut_off", why: ending.reason };
  return ending.type === "answer_invalid" ? { notice: "answer_invalid", why: ending.reason } : undefined;
}
