import { given } from "../../option-rules/given.ts";
import { createRuntime, type RuntimeOptions } from "../../runtime.ts";
import type { Model } from "../../models/model.ts";
import { countTokens } from "../../tools/count-tokens.ts";
import type { Tool } from "../../tools/tool.ts";
import { countOnce } from "../accounting/count-exchange.ts";
import type { ComparisonTask } from "../comparison-task.ts";
import { withoutSideEffects } from "../without-side-effects.ts";
import { boundedFetch } from "../../models/provider/bounded-fetch.ts";
import { DOLLARS_SPENT, type EndedTrial, runTrial, type TrialMode, type TrialRequest } from "./trial.ts";

/** Time of one turn, in milliseconds. */
const REPLY_MS = 600_000;

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

/** A `fetch` that records the usage of every reply, in the provider's own form. */
function recordUsage() {
  const usages: unknown[] = [];
  const bounded = boundedFetch({ timeoutMs: REPLY_MS, stream: false, fetch: globalThis.fetch });
  return {
    /** One entry per reply, in order; `null` if a reply has no usage. */
    usages,
    fetch: async (...request: Parameters<typeof fetch>): Promise<Response> => {
      const response = await bounded(...request);
      if (!response.ok) return response;
      const text = await response.text();
      usages.push(usageIn(text));
      const { status, statusText, headers } = response;
      return new Response(text, { status, statusText, headers });
    },
  };
}

function usageIn(text: string): unknown {
  try {
    const { usage, usageMetadata } = JSON.parse(text) as { readonly usage?: unknown; readonly usageMetadata?: unknown };
    return usage ?? usageMetadata ?? null;
  } catch {
    return null;
  }
}
