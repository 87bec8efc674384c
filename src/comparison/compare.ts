import { type ProviderName, PROVIDERS } from "../models/provider/providers.ts";
import {
  abortSignal,
  checkOptions,
  count,
  countText,
  fieldsOf,
  option,
  type OptionsOf,
  readOptions,
  wholeNumber,
} from "../base/index.ts";
import type { Runtime } from "../runtime/create-runtime.ts";
import { type Mode, runTask, type TaskRun, TOKEN_LENGTH } from "./conversations.ts";
import { EXACT, installedProviders, lastRequest } from "./requests.ts";
import { type ComparisonTask, TASK_RULES } from "./task.ts";
import { costOf, countOnce, type Spent, spentBy, sum } from "./tokens.ts";

/** The two modes whose ratio is reported: the best case of direct calls with the same tools, and a careful program. */
export const BASELINE = "direct-parallel" satisfies Mode;
export const HEADLINE = "programmatic+probe" satisfies Mode;

export const COMPARE_RULES = {
  /** Providers whose requests are counted; by default all whose SDK is installed. */
  providers: option<readonly ProviderName[]>(
    `some of ${[...PROVIDERS.keys()].join(", ")}`,
    (value) => Array.isArray(value) && value.every((name) => PROVIDERS.has(name)),
  ),
  /** Size of the context window, in tokens; 200,000 by default. */
  windowTokens: wholeNumber({ min: 1, max: 100_000_000, default: 200_000 }),
  /** Cancels it. */
  signal: abortSignal(),
};

export type CompareOptions = OptionsOf<typeof COMPARE_RULES>;

export interface ModeMeasure {
  readonly mode: Mode;
  readonly spent: Spent;
  /** In tokens of uncached input: one read from a cache counts 0.1, one written to it 1.25, one of output 5. */
  readonly cost: number;
  /** Whether the results lead to the expected answer. */
  readonly answer: "right" | "wrong";
  /** Whether its largest context fits the window. */
  readonly fits: boolean;
}

/** One task in the requests of one provider. */
export interface ProviderMeasure {
  readonly provider: ProviderName;
  /** False if the provider's encoding is not public, so that all counts are estimates. */
  readonly exact: boolean;
  readonly modes: readonly ModeMeasure[];
  /** Cost of direct calls divided by that of a careful program; undefined if either does not fit or is not right. */
  readonly ratio?: number;
  /** Why there is no ratio. */
  readonly noRatio?: string;
}

/** One task, measured. */
export interface Comparison {
  readonly task: string;
  readonly calls: number;
  /** UTF-8 bytes of all results of direct calls. */
  readonly resultBytes: number;
  /** UTF-8 bytes that reached the model from the program. */
  readonly outputBytes: number;
  readonly providers: readonly ProviderMeasure[];
  /** Warnings that belong to the figures. */
  readonly notes: readonly string[];
}

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
  const { windowTokens, providers: wanted, ...read } = readOptions("compare", options, COMPARE_RULES);
  checkOptions(fieldsOf("task"), task, TASK_RULES);
  const providers = wanted ?? installedProviders();
  const signal = read.signal ? AbortSignal.any([read.signal, runtime.closing]) : runtime.closing;
  const run = await runTask({ runtime, signal, windowTokens }, task);
  const tokensOf = countOnce();
  const measures: ProviderMeasure[] = [];
  for (const provider of providers) {
    const modes: ModeMeasure[] = [];
    for (const [mode, conversation] of run.conversations) {
      const request = await lastRequest(provider, task.question, conversation);
      const spent = spentBy(request, JSON.stringify(task.answer), tokensOf);
      const answer = conversation.fault === undefined ? "right" : "wrong";
      modes.push({ mode, spent, cost: costOf(spent), answer, fits: spent.peak <= windowTokens });
    }
    measures.push({ provider, exact: EXACT.has(provider), modes, ...ratioOf(modes) });
  }
  const { conversations, programmatic } = run;
  const omissions = [...PROVIDERS.values()].filter(({ name }) => wanted === undefined && !providers.includes(name));
  return {
    task: task.name,
    calls: programmatic.layers.flat().length,
    resultBytes: (conversations.get(BASELINE) ?? programmatic).resultBytes,
    outputBytes: sum(programmatic.turns.flatMap(({ results }) => results.map(({ provenance }) => provenance.bytes))),
    providers: measures,
    notes: [
      ...notesOf(run, windowTokens),
      omissions.length > 0 &&
        `Not measured, because its SDK is not installed: ${omissions.map(({ name }) => name).join(", ")} (npm install ${[...new Set(omissions.map(({ sdk }) => sdk))].join(" ")}).`,
      !providers.every((name) => EXACT.has(name)) &&
        "Tokens of Claude and Gemini are estimates: their encodings are not public.",
    ].filter((note) => note !== false),
  };
}

/** The measure of a mode; undefined if it was not measured. */
export function measureOf(modes: readonly ModeMeasure[] | undefined, mode: Mode): ModeMeasure | undefined {
  return modes?.find((one) => one.mode === mode);
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

/** What the figures do not show. */
function notesOf({ conversations, programmatic, probed, programOnly, overflows }: TaskRun, windowTokens: number) {
  const { layers, resultBytes } = programmatic;
  const faults = Map.groupBy(conversations, ([, { fault }]) => fault ?? "");
  return [
    ...[...faults].map(
      ([fault, modes]) => fault !== "" && `Wrong answer of ${modes.map(([mode]) => mode).join(", ")}: ${fault}.`,
    ),
    probed.outcomes[0]?.type !== "completed" &&
      "The probing program, which reads samples, did not complete. One that completes would cost more.",
    programOnly.length > 0 &&
      !overflows &&
      `Only programs may call ${programOnly.join(", ")}: direct calls are counted as if models might, too.`,
    overflows &&
      `Direct calls were not made: ${programOnly.join(", ")} gave ${count(resultBytes)} bytes, as streams. A window of ${count(windowTokens)} tokens does not hold them, because no token has more than ${TOKEN_LENGTH} characters.`,
    programmatic.fault !== probed.fault &&
      "The same program gave different answers: a tool, or the program, is not deterministic. Use fixed data, then compare.",
    layers.length > 2 &&
      `The program makes its ${countText(layers.flat().length, "call")} in ${countText(layers.length, "step")}, one after the other, so direct calls are counted so too. If they do not need each other's answers, use Promise.all.`,
  ];
}
