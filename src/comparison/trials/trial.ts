import { isDeepStrictEqual } from "node:util";
import { contextsOf } from "../accounting/accounting.ts";
import { exchangeOf, sum, type TokenCounter } from "../accounting/exchange.ts";
import type { Price } from "../accounting/prices.ts";
import type { Model, ModelUsage, Opening } from "../../models/model.ts";
import type { Runtime } from "../../runtime.ts";
import { recordLastRequest } from "../wires/record-requests.ts";
import type { Wire } from "../wires/wire.ts";
import type { AgentReport } from "../../agent/agent.ts";
import type { ComparisonTask } from "../comparison-task.ts";
import type { ProgramsOption, Transcript } from "../../agent/transcript.ts";
import { recordOpening } from "../record-opening.ts";
import { capSpending } from "./cap-spending.ts";

/** The two ways in which a real model is given a task. */
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
  /** Why it says nothing of its mode; a trial that is void is in no figure. */
  readonly void?: string;
  readonly turns: number;
  readonly calls: number;
  readonly ms: number;
  /** As the provider counts. */
  readonly usage: ModelUsage;
  /** As the provider said it, turn by turn. */
  readonly rawUsage: readonly unknown[];
  /** At most, for a cache's prices are not told apart. */
  readonly usd: number;
  /** What the offline accounting makes of the same conversation; nothing where the provider has counted nothing. */
  readonly offline?: OfflineCheck;
}

export interface OfflineCheck {
  readonly inputTokens: number;
  /** Of what the provider counted, as a part of it: 0.05 is 5 % more. */
  readonly deviation: number;
  readonly exact: boolean;
  readonly agrees: boolean;
}

/** Most by which the offline accounting may differ from the provider's count, where the encoding is known. */
export const AGREEMENT = 0.1;

/** A trial, and the conversation that it was. */
export interface EndedTrial {
  readonly trial: Trial;
  readonly transcript: Transcript;
}

export interface TrialRequest {
  readonly task: ComparisonTask;
  readonly mode: TrialMode;
  readonly model: Model;
  readonly wire: Wire;
  readonly price: Price;
  /** Dollars that it may cost. No turn is begun that could pass them. */
  readonly maxUsd: number;
  readonly maxTurns: number;
  /** Its tools must have no side effects: several trials call them. */
  readonly runtime: Runtime;
  /** What the provider has said of usage so far, to be taken over. */
  readonly rawUsage: readonly unknown[];
  readonly count: TokenCounter;
  readonly signal: AbortSignal;
}

/** Cause of a trial that is void for want of money. */
export const DOLLARS_SPENT = "the dollars that were left would not have paid for another turn";

const PROGRAMS: Readonly<Record<TrialMode, ProgramsOption>> = { direct: "none", programmatic: "local" };

/** Gives a real model a task in one mode, and says what it took and whether it got it right. */
export async function runTrial(request: TrialRequest): Promise<EndedTrial> {
  const { task, mode, price, maxUsd, maxTurns, runtime, signal } = request;
  const { model, opening } = recordOpening(request.model);
  const paid = capSpending(model, price, maxUsd);
  const since = performance.now();
  const report = await runtime.agent({
    model: paid.model,
    task: questionOf(task),
    programs: PROGRAMS[mode],
    maxTurns,
    maxTokens: Number.MAX_SAFE_INTEGER,
    signal,
  });
  signal.throwIfAborted();
  const ms = performance.now() - since;
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

/** Whether the model's words hold the right answer: JSON alone, or in a block of its own. */
export function isRightAnswer(words: string, answer: unknown): boolean {
  const blocks = [...words.matchAll(/```(?:json)?\s*\n([\s\S]*?)```/g)].map(([, block]) => block ?? "");
  return [words, ...blocks].some((text) => {
    try {
      return isDeepStrictEqual(JSON.parse(text), answer);
    } catch {
      return false;
    }
  });
}

/** A trial says nothing of a mode that the model has not used. */
function voidCause(mode: TrialMode, { calls, ending }: AgentReport, isSpent: boolean): string | undefined {
  if (isSpent) return DOLLARS_SPENT;
  if (ending.type === "provider_failed") return ending.failure.message;
  const caller = mode === "direct" ? "direct" : "programmatic";
  return calls.some((call) => call.caller === caller) ? undefined : `no call was ${caller}`;
}

/** The same conversation in the offline accounting: the input of all its turns. Undefined where it has none that is whole. */
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
