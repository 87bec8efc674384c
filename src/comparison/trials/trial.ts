import { contextsOf } from "../accounting/accounting.ts";
import { exchangeOf, sum, type TokenCounter } from "../accounting/exchange.ts";
import type { Price } from "../accounting/prices.ts";
import { AGREEMENT, isRightAnswer, type OfflineCheck, type Trial, type TrialMode } from "./trial-summary.ts";
import type { Model } from "../../models/model.ts";
import { recordLastRequest } from "../wires/record-requests.ts";
import type { Wire } from "../wires/wire.ts";
import type { AgentOptions } from "../../agent/agent-options.ts";
import type { AgentReport } from "../../agent/agent.ts";
import type { ComparisonTask } from "../comparison-task.ts";
import { openingFor } from "../../agent/opening.ts";
import type { ProgramsOption, Transcript } from "../../agent/transcript.ts";
import { withinDollars } from "./cap-spending.ts";
import type { ToolSet } from "../../tools/tool-set.ts";

export interface TrialRequest {
  readonly task: ComparisonTask;
  readonly mode: TrialMode;
  readonly model: Model;
  readonly wire: Wire;
  readonly price: Price;
  /** Dollars that it may cost. No turn is begun that could pass them. */
  readonly mostUsd: number;
  readonly maxTurns: number;
  readonly tools: ToolSet;
  readonly agent: (options: AgentOptions) => Promise<AgentReport>;
  /** What the provider has said of usage so far, to be taken over. */
  readonly rawUsage: readonly unknown[];
  readonly count: TokenCounter;
  readonly signal: AbortSignal;
}

/** Cause of a trial that is void for want of money. */
export const DOLLARS_SPENT = "the dollars that were left would not have paid for another turn";

const PROGRAMS: Readonly<Record<TrialMode, ProgramsOption>> = { direct: "none", programmatic: "local" };

/** Gives a real model a task in one mode, and says what it took and whether it got it right. */
export async function runTrial(
  request: TrialRequest,
): Promise<{ readonly trial: Trial; readonly transcript: Transcript }> {
  const { task, mode, price, mostUsd, maxTurns, agent, signal } = request;
  const paid = withinDollars(request.model, price, mostUsd);
  const since = performance.now();
  const report = await agent({
    model: paid.model,
    task: questionOf(task),
    programs: PROGRAMS[mode],
    maxTurns,
    maxTokens: Number.MAX_SAFE_INTEGER,
    signal,
  });
  signal.throwIfAborted();
  const { ending, answer, calls, transcript } = report;
  const offline = await checkOffline(request, report);
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
    ms: performance.now() - since,
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

/** A trial says nothing of a mode that the model has not used. */
function voidCause(mode: TrialMode, { calls, ending }: AgentReport, isSpent: boolean): string | undefined {
  if (isSpent) return DOLLARS_SPENT;
  if (ending.type === "provider_failed") return ending.failure.message;
  const caller = mode === "direct" ? "direct" : "programmatic";
  return calls.some((call) => call.caller === caller) ? undefined : `no call was ${caller}`;
}

/** The same conversation in the offline accounting: the input of all its turns. Undefined where it has none that is whole. */
async function checkOffline(
  { task, mode, model, wire, tools, count }: TrialRequest,
  { transcript, answer }: AgentReport,
): Promise<OfflineCheck | undefined> {
  const broken = transcript.turns.findIndex(({ turn }) => turn.end.type !== "called" && turn.end.type !== "answered");
  const turns = broken < 0 ? transcript.turns : transcript.turns.slice(0, broken);
  if (turns.length === 0) return undefined;
  const opening = openingFor(model, tools, PROGRAMS[mode], "javascript");
  const exchange = exchangeOf(await recordLastRequest(wire, opening, questionOf(task), turns), answer ?? "", count);
  const inputTokens = sum(contextsOf(exchange));
  const counted = sum(turns.map(({ turn }) => turn.usage.inputTokens));
  if (counted === 0) return undefined;
  const deviation = inputTokens / counted - 1;
  return { inputTokens, deviation, exact: wire.exact, agrees: Math.abs(deviation) <= AGREEMENT };
}
