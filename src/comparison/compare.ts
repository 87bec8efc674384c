import { type ProviderName, PROVIDERS } from "../models/provider/providers.ts";
import { abortSignal, listener, option, type OptionsOf, readOptions } from "../option-rules/options.ts";
import { EXECUTE_RULES } from "../programs/execute-options.ts";
import type { Runtime } from "../runtime.ts";
import { runTask } from "./conversations.ts";
import { BASELINE, type Comparison, HEADLINE, measureOf, type ModeMeasure, type ProviderMeasure } from "./measures.ts";
import { notesOf } from "./notes.ts";
import { WINDOW_TOKENS } from "./numbers.ts";
import { EXACT, installedProviders, lastRequest } from "./requests.ts";
import { checkTask, type ComparisonTask } from "./task.ts";
import { costOf, countOnce, spentBy, sum } from "./tokens.ts";

export const COMPARE_RULES = {
  /** Providers whose requests are counted; by default all whose SDK is installed. */
  providers: option<readonly ProviderName[]>(
    `some of ${[...PROVIDERS.keys()].join(", ")}`,
    (value) => Array.isArray(value) && value.every((name) => PROVIDERS.has(name)),
  ),
  /** Size of the context window, in tokens; 200,000 by default. */
  windowTokens: WINDOW_TOKENS,
  /** Language of the task's program; JavaScript by default. */
  language: EXECUTE_RULES.language,
  /** Called with the name of each mode and provider that has been measured. */
  onProgress: listener<(done: string) => void>(),
  /** Cancels the comparison. */
  signal: abortSignal(),
};

export type CompareOptions = OptionsOf<typeof COMPARE_RULES>;

/**
 * Does a task by a program and by direct calls in the runtime, with a scripted model, and resolves with the tokens that
 * each would pass through a model of each provider. No provider is called. Every call is made several times; calls of
 * tools that change something, and of agents, are not made. Rejects with a `PortcullisError` if an option or the task
 * is wrong, the runtime is closed, the sandbox cannot run or the journal cannot be written. Rejects with the signal's
 * reason if the signal aborts.
 */
export async function compare(
  runtime: Runtime,
  task: ComparisonTask,
  options: CompareOptions = {},
): Promise<Comparison> {
  const read = readOptions("compare", options, COMPARE_RULES);
  const { language, windowTokens, onProgress = () => {} } = read;
  checkTask(task);
  const providers = read.providers ?? installedProviders();
  const signal = read.signal ? AbortSignal.any([read.signal, runtime.closing]) : runtime.closing;
  const run = await runTask({ runtime, language, signal, windowTokens, onProgress }, task);
  const count = countOnce();
  const measures: ProviderMeasure[] = [];
  for (const provider of providers) {
    const modes: ModeMeasure[] = [];
    for (const [mode, conversation] of run.conversations) {
      const request = await lastRequest(provider, task.question, conversation);
      const spent = spentBy(request, JSON.stringify(task.answer), count);
      const answer = conversation.fault === undefined ? "right" : "wrong";
      modes.push({ mode, spent, cost: costOf(spent), answer, fits: spent.peak <= windowTokens });
    }
    measures.push({ provider, exact: EXACT.has(provider), modes, ...ratioOf(modes) });
    onProgress(provider);
  }
  const { conversations, programmatic } = run;
  return {
    task: task.name,
    calls: programmatic.layers.flat().length,
    resultBytes: (conversations.get(BASELINE) ?? programmatic).resultBytes,
    outputBytes: sum(programmatic.turns.flatMap(({ results }) => results.map(({ provenance }) => provenance.bytes))),
    providers: measures,
    notes: notesOf(run, providers, read),
  };
}

/** The ratio of the two headline modes if both did the task, else the reason why there is none. */
function ratioOf(modes: readonly ModeMeasure[]) {
  const baseline = measureOf(modes, BASELINE);
  const headline = measureOf(modes, HEADLINE)!;
  if (!baseline) return { noRatio: `${BASELINE} does not fit` };
  // A fault of the program is reported first, even if the direct calls do not fit either.
  for (const { mode, fits, answer } of [headline, baseline]) {
    if (!fits) return { noRatio: `${mode} does not fit` };
    if (answer === "wrong") return { noRatio: `${mode} has a wrong answer` };
  }
  return { ratio: baseline.cost / headline.cost };
}
