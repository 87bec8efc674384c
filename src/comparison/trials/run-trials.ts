import { given } from "../../option-rules/given.ts";
import { createRuntime, type RuntimeOptions } from "../../runtime.ts";
import type { Model } from "../../models/model.ts";
import { countTokens } from "../../tools/count-tokens.ts";
import type { Tool } from "../../tools/tool.ts";
import { countOnce } from "../accounting/count-exchange.ts";
import type { ComparisonTask } from "../comparison-task.ts";
import { withoutSideEffects } from "../without-side-effects.ts";
import { recordUsage } from "./record-usage.ts";
import { DOLLARS_SPENT, type EndedTrial, runTrial, type TrialMode, type TrialRequest } from "./trial.ts";

export interface TrialsRequest extends Pick<TrialRequest, "wire" | "price" | "language" | "signal"> {
  readonly tasks: readonly { readonly task: ComparisonTask; readonly tools: () => Promise<readonly Tool[]> }[];
  readonly modes: readonly TrialMode[];
  /** Trials of each task in each mode. */
  readonly repeat: number;
  /** Makes the model, which sends its requests through this `fetch`. */
  readonly connect: (fetch: typeof globalThis.fetch) => Model;
  /** Dollars that all trials together may cost. */
  readonly maxUsd: number;
  readonly sandbox: NonNullable<RuntimeOptions["sandbox"]>;
  readonly limits?: NonNullable<RuntimeOptions["limits"]>;
  /** Decides calls that need approval. */
  readonly approve?: NonNullable<RuntimeOptions["approve"]>;
}

/** Turns that one trial may take. */
const MAX_TURNS = 200;

/**
 * Gives a real model each task in each mode, several times, and yields each trial when it has ended. Tools that change
 * something, and agents, are declared and not run. It ends early if the remaining dollars would not pay for another
 * turn. Rejects as `Runtime.agent` does, and with the signal's reason if the signal aborts.
 */
export async function* runTrials(
  request: TrialsRequest,
): AsyncGenerator<EndedTrial & { readonly round: number }, void, undefined> {
  const { tasks, modes, repeat, connect, wire, price, maxUsd, sandbox, language, limits, approve, signal } = request;
  const count = countOnce((text) => countTokens(text));
  let leftUsd = maxUsd;
  for (const { task, tools } of tasks) {
    await using runtime = await createRuntime({
      tools: (await tools()).map(withoutSideEffects),
      sandbox,
      ...given({ limits, approve }),
    });
    for (let round = 1; round <= repeat; round += 1) {
      for (const mode of modes) {
        const recorder = recordUsage();
        const ended = await runTrial({
          task,
          mode,
          model: connect(recorder.fetch),
          wire,
          price,
          maxUsd: leftUsd,
          maxTurns: MAX_TURNS,
          ...given({ language }),
          runtime,
          rawUsage: recorder.usages,
          count,
          signal,
        });
        leftUsd = ended.trial.void === DOLLARS_SPENT ? 0 : leftUsd - ended.trial.usd;
        yield { ...ended, round };
        if (leftUsd <= 0) return;
      }
    }
  }
}
