import { now, count } from "../../../base/index.ts";
import { compare, type Comparison } from "../../../comparison/compare.ts";
import { type BenchReport, lossesFirst, reportNotes, reportTable } from "../../../comparison/report.ts";
import { createRuntime } from "../../../runtime/create-runtime.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { BENCH, CommandOptions } from "../../command-options.ts";
import { EXIT, causeOf, UsageFailure } from "../../failure.ts";
import {
  EXAMPLES,
  exampleFile,
  exampleTools,
  requireData,
  TASKS,
  loadTask,
  type LoadedTask,
} from "../../input/examples.ts";
import { loadTools, parseModel } from "../../input/load-module.ts";
import { word } from "../../input/option-values.ts";
import { version } from "../../package-json.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { oneLine, printJson, printTable, tellWork, writeStdout, writeStderr } from "../../terminal/standard-streams.ts";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runTrials, summariseTrials, TRIAL_MODES, type Trial, type TrialsRequest } from "../../../comparison/trials.ts";

/**
 * `portcullis bench`: measures the tokens that programs save against direct calls, for the package's tasks or the
 * user's own, without a request to a provider. Resolves with the exit code: 1 if an answer is wrong.
 */
export async function bench(names: readonly string[], options: CommandOptions<typeof BENCH>): Promise<number> {
  const { sandbox, json } = options;
  // Before the tasks, which need packages.
  const live = options.live ? readLive(options) : undefined;
  const jobs = await jobsOf(names, options);
  if (live) return benchLive(jobs, live, options);
  using cancelling = cancelOnSignal();
  const { signal } = cancelling;
  const measured: Comparison[] = [];
  try {
    for (const job of jobs) {
      tellWork(`Measuring ${job.task.name}`);
      const limits = { ...job.limits, ...options.limit };
      await using runtime = await createRuntime({ tools: await job.tools(), sandbox, limits });
      measured.push(await compare(runtime, job.task, { signal }));
    }
  } catch (error) {
    if (signal.aborted) return cancelling.exitCode;
    throw error;
  }
  const comparisons = lossesFirst(measured);
  const about = {
    format: 3,
    date: new Date(now()).toISOString().slice(0, 10),
    portcullis: version,
    node: process.versions.node,
  } as const;
  if (json) printJson({ ...about, comparisons } satisfies BenchReport);
  else {
    const { head, rows } = reportTable(comparisons);
    printTable(head, rows, head.slice(1, -1));
    for (const note of reportNotes(comparisons)) writeStdout(`\n${oneLine(note)}\n`);
  }
  const modes = measured.flatMap(({ providers }) => providers.flatMap((one) => one.modes));
  return modes.every(({ answer }) => answer === "right") ? EXIT.completed : EXIT.failed;
}

/** The package's tasks by name (all but the large ones if none is named), or the user's own task. */
async function jobsOf(
  names: readonly string[],
  { tools, task }: CommandOptions<typeof BENCH>,
): Promise<readonly (LoadedTask & { readonly tools: () => Promise<readonly Tool[]> })[]> {
  if (task !== undefined || tools !== undefined) {
    if (task === undefined || tools === undefined || names.length > 0)
      throw new UsageFailure("--task and --tools go together, and without names: the package's tasks have tools.");
    return [{ ...(await loadTask(task)), tools: () => loadTools(tools) }];
  }
  const chosen = names.length > 0 ? names.map((name) => word(TASKS)("bench", name)) : EXAMPLES;
  requireData(chosen);
  return Promise.all(
    chosen.map(async (name) => ({
      ...(await loadTask(exampleFile(name, "task.json"))),
      tools: () => exampleTools(name),
    })),
  );
}

/** What a live bench is given. Throws if it lacks a model, or the tokens that it may take. */
function readLive({ model: name = "", baseUrl, maxTokens }: CommandOptions<typeof BENCH>) {
  if (name === "") throw new UsageFailure("--live needs --model: the provider and its model, like openai:NAME.");
  if (maxTokens === undefined)
    throw new UsageFailure("--live needs --max-tokens: the tokens that it may take, like 500000. They cost money.");
  return { model: parseModel(name, { baseUrl }), maxTokens };
}

/** `portcullis bench --live`: a real model does the tasks in both modes, several times. Resolves with the exit code. */
async function benchLive(
  jobs: TrialsRequest["tasks"],
  { model, maxTokens }: ReturnType<typeof readLive>,
  { repeat = 3, sandbox, limit: limits, json }: CommandOptions<typeof BENCH>,
): Promise<number> {
  using cancelling = cancelOnSignal();
  const { signal } = cancelling;
  const at = new Date(now()).toISOString();
  const about = { format: 3, date: at.slice(0, 10), portcullis: version, model: model.name, maxTokens };
  // A new folder for each run, so that none overwrites results that cost money.
  const folder = join("bench", `live-${at.replaceAll(/[:.]/g, "")}`);
  const trials: Trial[] = [];
  const report = () => ({ ...about, trials, summary: summariseTrials(trials) });
  // After each trial: a later failure must not lose what was paid for. And first, before money is spent.
  const save = () => write(folder, "live", report());
  save();
  try {
    const ended = runTrials({ tasks: jobs, repeat, model, maxTokens, runtime: { sandbox, limits }, signal });
    for await (const { trial, transcript, round } of ended) {
      trials.push(trial);
      write(folder, `live-${trial.task}-${trial.mode}-${round}`, transcript);
      save();
      tellWork(`${trial.task}: ${trial.mode} ${round}`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  writeStderr(`Kept in ${oneLine(folder)}: live.json, and each conversation.\n`);
  if (json) printJson(report());
  else print(trials, jobs.length * TRIAL_MODES.length * repeat - trials.length, maxTokens);
  return signal.aborted ? cancelling.exitCode : EXIT.completed;
}

function write(folder: string, name: string, value: unknown): void {
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(value, undefined, 2)}\n`);
  } catch (cause) {
    throw new UsageFailure(`${folder} cannot be written: ${causeOf(cause)}. Start the command in another folder.`);
  }
}

function print(trials: readonly Trial[], notBegun: number, maxTokens: number): void {
  const head = ["task", "mode", "right", "void", "tokens", "per right answer", "turns", "seconds"];
  const whole = (value: number) => (Number.isFinite(value) ? count(Math.round(value)) : "–");
  const rows = summariseTrials(trials).map((one) => [
    one.task,
    one.mode,
    `${one.right} of ${one.trials - one.void}`,
    `${one.void}`,
    ...[one.tokens, one.tokensPerRightAnswer, one.turns].map(whole),
    Number.isNaN(one.ms) ? "–" : (one.ms / 1000).toFixed(1),
  ]);
  printTable(head, rows, head.slice(2));
  for (const { task, mode, void: cause } of trials)
    if (cause !== undefined) writeStdout(`${oneLine(`${task}, ${mode}: void, because ${cause}`)}\n`);
  if (notBegun > 0)
    writeStdout(
      `${notBegun} of ${trials.length + notBegun} trials were not begun: ${count(maxTokens)} tokens were spent, or the run was cancelled.\n`,
    );
}
