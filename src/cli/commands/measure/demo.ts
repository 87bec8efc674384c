import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import type { Language } from "../../../../bridge/frames.ts";
import { differenceFrom } from "../../../comparison/task.ts";
import { countText } from "../../../base/index.ts";
import type { Report } from "../../../executions/output/index.ts";
import { createRuntime } from "../../../runtime/create-runtime.ts";
import { viewExecution } from "../../../serve/views/view-execution.ts";
import { duration, funnelInLine } from "../../../serve/views/words.ts";
import type { CommandOptions, DEMO } from "../../command-options.ts";
import { EXIT } from "../../failure.ts";
import {
  DEFAULT_DEMOS,
  DEMOS,
  type DemoName,
  exampleFile,
  exampleModule,
  exampleTools,
  isScene,
  requireData,
  requirePackages,
  type SceneName,
  SCENES,
  loadTask,
} from "../../input/examples.ts";
import { loadModule } from "../../input/load-module.ts";
import { word } from "../../input/option-values.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import { quoted } from "../../terminal/executions/waiting-hints.ts";
import { oneLine, writeStdout, writeStyled } from "../../terminal/standard-streams.ts";

const heading = (text: string) => writeStyled("bold", `\n${text}\n`);

/**
 * `portcullis demo`: plays the scenes, and runs the examples on real data, checks their answers, and compares the bytes that
 * tools returned with those that reach the model. Resolves with the exit code.
 */
export async function demo(names: readonly string[], { sandbox }: CommandOptions<typeof DEMO>): Promise<number> {
  const named = names.map((name) => word([...DEMOS, ...SCENES])("demo", name));
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
  const [, cli = ""] = process.argv;
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
