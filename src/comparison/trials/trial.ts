import { monotonic } from "../../clock.ts";
import type { AgentOptions } from "../../agent/agent-options.ts";
import { isDeepStrictEqual } from "node:util";
import { contextsOf } from "../accounting/accounting.ts";
import { exchangeOf, sum, type TokenCounter } from "../accounting/count-exchange.ts";
import type { Price } from "../../models/prices.ts";
import type { Model, ModelUsage, Opening } from "../../models/model.ts";
import type { Runtime } from "../../runtime.ts";
import { recordLastRequest } from "../wires/record-requests.ts";
import type { Wire } from "../wires/wire.ts";
import type { AgentReport } from "../../agent/agent-report.ts";
import type { ComparisonTask } from "../comparison-task.ts";
import type { Transcript } from "../../agent/from-journal/transcript.ts";
import type { ProgramsOption } from "../../agent/prompt/programs-option.ts";
import { recordOpening } from "../record-opening.ts";
import { capSpending } from "./cap-spending.ts";

/** How a real model may do a task: by direct calls only, or by programs. */
export type TrialMode = "direct" | "programmatic";
export const TRIAL_MODES: readonly TrialMode[] = ["direct", "programmatic"];

/** One conversation with a real model. */
export interface Trial {
  readonly task: string;
  readonly mode: TrialMode;
  /** How the conversation ended. */
  readonly ending: string;
  readonly answer: string | undefined;
  readonly right: boolean;
  /** Why the trial is not a measurement of its mode. Void trials are in no figure except `usd`. */
  readonly void?: string;
  readonly turns: number;
  readonly calls: number;
  readonly ms: number;
  /** Tokens, as the provider counts them. */
  readonly usage: ModelUsage;
  /** Usage in the provider's own form, one entry a reply. */
  readonly rawUsage: readonly unknown[];
  /** Upper bound of the cost in US dollars. */
  readonly usd: number;
  /** The same conversation in the offline accounting; undefined if the provider reported no usage. */
  readonly offline?: OfflineCheck;
}

export interface OfflineCheck {
  readonly inputTokens: number;
  /** Relative to the provider's count: 0.05 is 5 % more. */
  readonly deviation: number;
  readonly exact: boolean;
  readonly agrees: boolean;
}

/** Largest deviation from the provider's count that counts as agreement. */
const AGREEMENT = 0.1;

export interface EndedTrial {
  readonly trial: Trial;
  readonly transcript: Transcript;
}

export interface TrialRequest {
  readonly task: ComparisonTask;
  readonly mode: TrialMode;
  readonly model: Model;
  /** The same provider's protocol, for the offline accounting. */
  readonly wire: Wire;
  readonly price: Price;
  /** US dollars that it may cost. No turn is begun that could exceed them. */
  readonly maxUsd: number;
  readonly maxTurns: number;
  /** Language of the model's programs; JavaScript by default. */
  readonly language?: NonNullable<AgentOptions["language"]>;
  /** Its tools must have no side effects: several trials call them. */
  readonly runtime: Runtime;
  /** Filled by the model's `fetch` while the trial runs; copied into the trial. */
  readonly rawUsage: readonly unknown[];
  readonly count: TokenCounter;
  readonly signal: AbortSignal;
}

/** Cause of a trial that is void because its dollars were spent. */
export const DOLLARS_SPENT = "the remaining dollars would not have paid for another turn";

const PROGRAMS: Readonly<Record<TrialMode, ProgramsOption>> = { direct: "none", programmatic: "local" };

/** Gives a real model a task in one mode and measures it. Rejects with the signal's reason if the signal aborts. */
export async function runTrial(request: TrialRequest): Promise<EndedTrial> {
  const { task, mode, price, maxUsd, maxTurns, language = "javascript", runtime, signal } = request;
  const { model, opening } = recordOpening(request.model);
  const paid = capSpending(model, price, maxUsd);
  const since = monotonic();
  const report = await runtime.agent({
    model: paid.model,
    task: questionOf(task),
    programs: PROGRAMS[mode],
    language,
    maxTurns,
    maxTokens: Number.MAX_SAFE_INTEGER,
    // The task is measured: a model that is told to stop would be measured at something else.
    wrapUp: false,
    signal,
  });
  signal.throwIfAborted();
  const ms = monotonic() - since;
  const { ending, answer, calls, transcript } = report;
  const offline = await checkOffline(request, opening(), report);
  const cause = voidCause(mode, report, paid.isSpent());
  const trial: Trial = {
    task: task.name,
    mode,
    ending: ending.type,
    answer,
    right: answer !== undefined && isRightAnswer(answer, task.answer),
    ...(cause === undefined ? {} : { void: cause }),
    turns: report.usage.turns,
    calls: calls.length,
    ms,
    usage: report.usage,
    rawUsage: [...request.rawUsage],
    usd: paid.usd(),
    ...(offline === undefined ? {} : { offline }),
  };
  return { trial, transcript };
}

function questionOf({ question }: ComparisonTask): string {
  return `${question}\n\nAnswer with the JSON alone.`;
}

/** Whether the text is the right answer as JSON, or holds it in a fenced block. */
export function isRightAnswer(words: string, answer: unknown): boolean {
  return [words, ...blocksOf(words)].some((text) => {
    try {
      return isDeepStrictEqual(JSON.parse(text), answer);
    } catch {
      return false;
    }
  });
}

/** The contents of fenced blocks, without the fences. */
function blocksOf(words: string): readonly string[] {
  const parts = words.split("```");
  const blocks: string[] = [];
  // The last part has no closing fence.
  for (let index = 1; index < parts.length - 1; index += 1) {
    const [opening] = /^(?:json)?\s*\n/.exec(parts[index] ?? "") ?? [];
    if (opening === undefined) continue;
    blocks.push((parts[index] ?? "").slice(opening.length));
    // The part after the closing fence is not a block.
    index += 1;
  }
  return blocks;
}

/** Why a trial is void: it did not end by itself, or the model did not use the mode. Undefined if it is valid. */
function voidCause(mode: TrialMode, { calls, ending }: AgentReport, isSpent: boolean): string | undefined {
  if (isSpent) return DOLLARS_SPENT;
  if (ending.type === "provider_failed") return ending.failure.message;
  return calls.some(({ caller }) => caller === mode) ? undefined : `no call was ${mode}`;
}

/** Compares the input of all whole turns with the offline accounting. Undefined if no turn is whole or was counted. */
async function checkOffline(
  { task, wire, count }: TrialRequest,
  opening: Opening,
  { transcript, answer }: AgentReport,
): Promise<OfflineCheck | undefined> {
  const broken = transcript.turns.findIndex(({ turn }) => turn.end.type !== "called" && turn.end.type !== "answered");
  const turns = broken < 0 ? transcript.turns : transcript.turns.slice(0, broken);
  if (turns.length === 0) return undefined;
  const exchange = exchangeOf(await recordLastRequest(wire, opening, questionOf(task), turns), answer ?? "", count);
  const inputTokens = sum(contextsOf(exchange));
  const counted = sum(turns.map(({ turn }) => turn.usage.inputTokens));
  if (counted === 0) return undefined;
  const deviation = inputTokens / counted - 1;
  return { inputTokens, deviation, exact: wire.exact, agrees: Math.abs(deviation) <= AGREEMENT };
}
