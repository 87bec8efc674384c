import { isDeepStrictEqual } from "node:util";
import type { AgentReport, StopState } from "../conversations/agent-report.ts";
import { monotonic, parsedJson } from "../base/index.ts";
import type { Model, ModelUsage } from "../models/model.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../runtime/create-runtime.ts";
import type { Tool } from "../tools/tool.ts";
import { type ComparisonTask, withoutSideEffects } from "./task.ts";
import { sum } from "./tokens.ts";

/** How a real model may do a task: by direct calls only, or by programs. */
export const TRIAL_MODES = ["direct", "programmatic"] as const;
type TrialMode = (typeof TRIAL_MODES)[number];

export interface TrialsRequest {
  readonly tasks: readonly { readonly task: ComparisonTask; readonly tools: () => Promise<readonly Tool[]> }[];
  readonly repeat: number;
  readonly model: Model;
  /** Tokens of all trials together at which no further turn begins. */
  readonly maxTokens: number;
  readonly runtime: Pick<RuntimeOptions, "sandbox" | "limits">;
  readonly signal: AbortSignal;
}

/** Turns that one trial may take, and tokens that one turn may write. */
const MAX_TURNS = 200;
const MAX_OUTPUT_TOKENS = 16_000;

/**
 * Gives a real model each task in each mode, several times, and yields each trial when it has ended. Tools that change
 * something, and agents, are declared and not run. It ends early once the tokens are spent. Rejects as `Runtime.agent`
 * does, and with the signal's reason if the signal aborts.
 */
export async function* runTrials(request: TrialsRequest) {
  let budget = request.maxTokens;
  for (const { task, tools } of request.tasks) {
    await using runtime = await createRuntime({ ...request.runtime, tools: (await tools()).map(withoutSideEffects) });
    for (let round = 1; round <= request.repeat; round += 1) {
      for (const mode of TRIAL_MODES) {
        const ended = await runTrial(request, runtime, task, mode, budget);
        budget -= tokensOf(ended.trial.usage);
        yield { ...ended, round };
        if (budget <= 0) return;
      }
    }
  }
}

/** One conversation with a real model. */
export type Trial = Awaited<ReturnType<typeof runTrial>>["trial"];

async function runTrial(
  { model, signal }: TrialsRequest,
  runtime: Runtime,
  task: ComparisonTask,
  mode: TrialMode,
  maxTokens: number,
) {
  const since = monotonic();
  const report = await runtime.agent({
    model,
    task: `${task.question}\n\nAnswer with the JSON alone.`,
    programs: mode === "direct" ? "none" : "local",
    settings: { maxOutputTokens: MAX_OUTPUT_TOKENS },
    loop: {
      maxTurns: MAX_TURNS,
      maxTokens: Number.MAX_SAFE_INTEGER,
      stopWhen: ({ usage, turns }) => tokensOf(usage) >= maxTokens || isUncounted(turns),
      // The task is measured: a model that is told to stop would be measured at something else.
      wrapUp: false,
    },
    signal,
  });
  signal.throwIfAborted();
  const { ending, answer, calls, usage, transcript } = report;
  const trial = {
    task: task.name,
    mode,
    ending: ending.type,
    answer,
    right: answer !== undefined && isRightAnswer(answer, task.answer),
    /** Why the trial is not a measurement of its mode. Void trials are in no figure. */
    void: voidCause(mode, report),
    calls: calls.length,
    ms: monotonic() - since,
    usage,
  };
  return { trial, transcript };
}

/** Whether the provider does not say what the last turn took: its tokens cannot be bounded. */
function isUncounted(turns: StopState["turns"]): boolean {
  return turns.at(-1)?.turn.usage.inputTokens === 0;
}

/** Why a trial is void: it did not end by itself, or the model did not use the mode. Undefined if it is valid. */
function voidCause(mode: TrialMode, { calls, ending, transcript }: AgentReport): string | undefined {
  if (ending.type === "provider_failed") return ending.failure.message;
  if (isUncounted(transcript.turns)) return "the provider does not say how many tokens it took";
  if (ending.type === "stopped") return "the tokens are spent";
  return calls.some(({ caller }) => caller === mode) ? undefined : `no call was ${mode}`;
}

/** Whether the text is the right answer as JSON, or holds it in a fenced block. */
function isRightAnswer(words: string, answer: unknown): boolean {
  const blocks = words.split("```").filter((_, place) => place % 2 === 1);
  const texts = [words, ...blocks.map((block) => block.replace(/^json\b/, ""))];
  return texts.some((text) => isDeepStrictEqual(parsedJson(text, true), answer));
}

/** One summary for each task in each mode: medians of the trials that are not void. */
export function summariseTrials(trials: readonly Trial[]) {
  return [...Map.groupBy(trials, ({ task, mode }) => `${task} ${mode}`).values()].map((group) => {
    const valid = group.filter((trial) => trial.void === undefined);
    const right = valid.filter((trial) => trial.right).length;
    const tokens = valid.map(({ usage }) => tokensOf(usage));
    return {
      task: group[0]!.task,
      mode: group[0]!.mode,
      trials: group.length,
      void: group.length - valid.length,
      right,
      tokens: median(tokens),
      /** Tokens of all trials that are not void, per right answer; infinite if no answer was right. */
      tokensPerRightAnswer: sum(tokens) / right,
      turns: median(valid.map(({ usage }) => usage.turns)),
      ms: median(valid.map(({ ms }) => ms)),
    };
  });
}

function tokensOf({ inputTokens, outputTokens }: ModelUsage): number {
  return inputTokens + outputTokens;
}

/** The lower of the two in the middle. NaN for none. */
function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[(numbers.length - 1) >>> 1] ?? Number.NaN;
}
