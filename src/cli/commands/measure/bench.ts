import { now, count, countText } from "../../../base/index.ts";
import { compare, type Comparison } from "../../../comparison/compare.ts";
import { type BenchReport, lossesFirst, reportNotes, reportTable } from "../../../comparison/report.ts";
import { createRuntime } from "../../../runtime/create-runtime.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { BENCH, CommandOptions, DEMO } from "../../command-options.ts";
import { EXIT, causeOf, UsageFailure, cancelOnSignal } from "../../failure.ts";
import {
  EXAMPLES,
  exampleFile,
  exampleTools,
  requireData,
  TASKS,
  loadTask,
  type LoadedTask,
  DEFAULT_DEMOS,
  DEMOS,
  type DemoName,
  exampleModule,
  isScene,
  requirePackages,
  type SceneName,
  SCENES,
} from "../../input/examples.ts";
import { loadTools, parseModel, loadModule } from "../../input/load-module.ts";
import { oneWord } from "../../input/option-values.ts";
import { version } from "../../package-json.ts";
import {
  oneLine,
  printJson,
  printTable,
  tellWork,
  writeStdout,
  writeStderr,
  writeStyled,
} from "../../terminal/standard-streams.ts";
import { mkdirSync, writeFileSync, existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { runTrials, summariseTrials, TRIAL_MODES, type Trial, type TrialsRequest } from "../../../comparison/trials.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Language } from "../../../../bridge/frames.ts";
import { differenceFrom } from "../../../comparison/task.ts";
import type { Report } from "../../../executions/output/index.ts";
import { viewExecution } from "../../../serve/views/view-execution.ts";
import { duration, funnelInLine } from "../../../serve/views/words.ts";
import { quoted } from "../../terminal/executions/waiting-hints.ts";

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
  const chosen = names.length > 0 ? names.map((name) => oneWord(TASKS)("bench", name)) : EXAMPLES;
  requireData(chosen);
  return Promise.all(
    chosen.map(async (name) => ({
      ...(await loadTask(exampleFile(name, "task.json"))),
      tools: () => exampleTools(name),
    })),
  );
}

/** What a live bench is given. Throws if it lacks a model, or the tokens that it may take. */
function readLive({ model: name, baseUrl, maxTokens }: CommandOptions<typeof BENCH>) {
  if (name === undefined) throw new UsageFailure("--live needs --model: the provider and its model, like openai:NAME.");
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

const heading = (text: string) => writeStyled("bold", `\n${text}\n`);

/**
 * `portcullis demo`: plays the scenes, and runs the examples on real data, checks their answers, and compares the bytes that
 * tools returned with those that reach the model. Resolves with the exit code.
 */
export async function demo(names: readonly string[], { sandbox }: CommandOptions<typeof DEMO>): Promise<number> {
  const named = names.map((name) => oneWord([...DEMOS, ...SCENES])("demo", name));
  const chosen = named.length > 0 ? named : DEFAULT_DEMOS;
  const examples = chosen.filter((name) => !isScene(name));
  requireData(examples);
  requirePackages(examples);
  using cancelling = cancelOnSignal();
  const { signal } = cancelling;
  let code: number = EXIT.completed;
  for (const name of [...chosen.filter(isScene), ...examples]) {
    const isRight = await (isScene(name) ? playScene(name, signal) : runExample(name, sandbox, signal));
    if (signal.aborted) return cancelling.exitCode;
    if (!isRight) code = EXIT.failed;
  }
  return code;
}

/** Plays a scene, and says whether all of it went as it should. */
async function playScene(name: SceneName, signal: AbortSignal): Promise<boolean> {
  const module = exampleModule(name, "demo");
  const play = (await loadModule("demo", module, "a function of a scene")) as (scene: Scene) => Promise<boolean>;
  const isRight = await play({
    heading,
    print: (line) => writeStdout(`${line}\n`),
    signal,
    file: (file) => relative(process.cwd(), exampleModule(name, file)),
    portcullis: (args) => runCommand(args, signal),
  });
  if (isRight) writeStyled("green", "\n✓ as it should be\n");
  else writeStyled("red", "\n✗ something else happened\n");
  return isRight;
}

/** Runs the command line in a process of its own, and shows what it prints. */
async function runCommand(args: readonly string[], signal: AbortSignal): Promise<CommandOutput> {
  writeStyled("dim", `$ portcullis ${args.map(quoted).join(" ")}\n`);
  const cli = process.argv[1]!;
  const child = spawn(process.execPath, [...process.execArgv, cli, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    signal,
  });
  const shown = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      shown[name] += text;
      writeStdout(text);
    });
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? EXIT.cancelled, ...shown };
}

/** Runs an example's program in each language that both the sandbox and the example have. Resolves with whether all answers were right. */
async function runExample(
  name: DemoName,
  sandbox: CommandOptions<typeof DEMO>["sandbox"],
  signal: AbortSignal,
): Promise<boolean> {
  heading(`${name}: the question`);
  const { task, limits } = await loadTask(exampleFile(name, "task.json"));
  writeStdout(`${task.question}\n`);
  await using runtime = await createRuntime({ tools: await exampleTools(name), sandbox, limits });
  let right = true;
  for (const language of runtime.sandbox.languages) {
    const python = exampleFile(name, "program.py");
    if (language === "python" && !existsSync(python)) continue;
    const program = language === "javascript" ? task.program : readFileSync(python, "utf8");
    heading(`the program, as a model might write it in ${NAMES[language]}`);
    writeStdout(program);
    const report = await runtime.execute(program, { language, signal });
    if (signal.aborted) return false;
    heading("the answer");
    writeStdout(`${report.output.text}\n`);
    right = showVerdict(report, task.answer) && right;
    const { execution, usage } = report;
    const { funnel } = await viewExecution(runtime.journal, execution);
    writeStdout(
      `${countText(usage.calls, "call")} in ${duration(usage.cpuMs + usage.waitingMs)}: ${funnelInLine(funnel)}\n`,
    );
  }
  return right;
}

const NAMES: Readonly<Record<Language, string>> = { javascript: "JavaScript", python: "Python" };

function showVerdict({ outcome }: Report, expected: unknown): boolean {
  const difference = differenceFrom(expected, outcome.type === "completed" ? outcome.value : undefined);
  if (difference === undefined) writeStyled("green", "✓ right: the same as computed by other code on the raw data\n");
  else writeStyled("red", `✗ wrong: ${oneLine(difference)}\n`);
  return difference === undefined;
}

/** What `portcullis demo` gives a scene: an example that runs commands in place of a task with one answer. */
export interface Scene {
  /** Path of one of the scene's own modules, without its extension, as a command takes it. */
  readonly file: (name: string) => string;
  readonly heading: (text: string) => void;
  readonly print: (line: string) => void;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Runs the command line in a process of its own, shows the command and what it prints, and gives both back. */
  readonly portcullis: (args: readonly string[]) => Promise<CommandOutput>;
}

export interface CommandOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
