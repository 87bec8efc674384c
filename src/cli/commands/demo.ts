import { writeStdout } from "../terminal/standard-streams.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { styleText } from "node:util";
import type { Person, Ran, Scene } from "../scene.ts";
import type { Language } from "../../../bridge/frames.ts";
import { judge } from "../../comparison/conversations/answer-from.ts";
import { byteText } from "../../output/sentences.ts";
import type { Report } from "../../output/report.ts";
import type { ExecutionEvent } from "../../programs/execute.ts";
import { pastTurns } from "../../programs/history.ts";
import { createRuntime, type Runtime } from "../../runtime.ts";
import type { Model } from "../../models/model.ts";
import { cleanText } from "../../output/clean-text.ts";
import { createApprover } from "../terminal/ask-approvals.ts";
import { createScreen } from "../terminal/screen.ts";
import { TerminalLines } from "../terminal/terminal-lines.ts";
import { countTokens } from "../../tools/count-tokens.ts";
import { cancelOnSignal } from "../terminal/cancel-on-signal.ts";
import {
  dataHint,
  type DemoName,
  DEMOS,
  exampleFile,
  exampleModule,
  type ExampleName,
  exampleTools,
  isScene,
  missingData,
  parseExamples,
  requireData,
  requirePackages,
  SCENES,
  type SceneName,
  TALKING,
} from "../input/examples.ts";
import { Failure } from "../failure.ts";
import { loadModel } from "../input/load-model.ts";
import { loadModule } from "../input/load-module.ts";
import { EXIT } from "../exit-code.ts";
import type { Journal } from "../../journal/journal.ts";
import { openDemoPage } from "./demo-page.ts";
import { parseSandbox } from "../input/parse-sandbox.ts";
import { showProgress } from "../terminal/progress.ts";
import { oneLine } from "../terminal/one-line.ts";
import { quoted } from "../terminal/quoted.ts";
import { table } from "../terminal/table.ts";
import { loadTask } from "../input/task-file.ts";

const DEFAULT: readonly ExampleName[] = ["flights", "licenses"];

/** The default examples, without those whose data is not installed, which are named on standard error. */
function defaultExamples(): readonly ExampleName[] {
  return DEFAULT.filter((name) => {
    const missing = missingData([name]);
    if (missing.length > 0) process.stderr.write(`${name} is left out: ${dataHint(missing)}\n`);
    return missing.length === 0;
  });
}

const heading = (text: string) => writeStdout(`\n${styleText("bold", text)}\n`);

export interface DemoOptions {
  readonly sandbox: string;
  /** Plays in place of the scene's own model. */
  readonly model?: string;
  /** Shows the executions on the page, while they run and afterwards. */
  readonly page?: boolean;
}

/** `portcullis demo`: runs the examples on real data, checks their answers, and compares the bytes that tools returned with those that reach the model. Resolves with the exit code. */
export async function demo(names: readonly string[], options: DemoOptions): Promise<number> {
  const sandbox = parseSandbox(options.sandbox);
  const named = parseExamples("demo", names, [...DEMOS, ...SCENES]);
  const scenes = named.filter(isScene);
  if (options.page) refuseScenes(scenes);
  const chosen = named.length > 0 ? named.filter((name) => !isScene(name)) : defaultExamples();
  requireData(chosen);
  for (const scene of scenes) requirePackages(scene);
  const model = await modelFor(scenes, chosen, options.model);
  using cancelling = cancelOnSignal();
  await using page = options.page ? await openDemoPage() : undefined;
  let wrong = 0;
  for (const scene of scenes) {
    wrong += (await playScene(scene, model, cancelling.signal)) ? 0 : 1;
    if (cancelling.signal.aborted) return cancelling.exitCode;
  }
  for (const name of chosen) {
    wrong += (await runExample(name, { sandbox, journal: page?.journal }, cancelling.signal)) ? 0 : 1;
    if (cancelling.signal.aborted) return cancelling.exitCode;
  }
  await page?.stay(cancelling.signal);
  return wrong === 0 ? EXIT.completed : EXIT.failed;
}

/** Plays a scene, and says whether all of it went as it should. */
async function playScene(name: SceneName, model: Model | undefined, signal: AbortSignal): Promise<boolean> {
  const module = exampleModule(name, "demo");
  const play = (await loadModule("demo", module, "a function of a scene")) as (scene: Scene) => Promise<boolean>;
  using terminal = model && openTerminal();
  const isRight = await play({
    heading,
    print: (line) => writeStdout(`${cleanText(line)}\n`),
    model,
    person: terminal?.person,
    signal,
    file: (file) => relative(process.cwd(), exampleModule(name, file)),
    portcullis: (args) => runCommand(args, signal),
  });
  writeStdout(
    isRight ? styleText("green", "\n✓ as it should be\n") : styleText("red", "\n✗ something else happened\n"),
  );
  return isRight;
}

/** A scene runs commands in processes of their own, which the page does not see. */
function refuseScenes([scene]: readonly SceneName[]): void {
  if (scene !== undefined)
    throw new Failure(
      EXIT.usage,
      `demo: --page shows examples that run here, and ${scene} runs commands. Leave out one of them.`,
    );
}

/** The model that `--model` names. Throws a `Failure` where something that is to be shown takes none. */
async function modelFor(
  scenes: readonly SceneName[],
  chosen: readonly DemoName[],
  named: string | undefined,
): Promise<Model | undefined> {
  if (named === undefined) return undefined;
  const other = scenes.find((scene) => !TALKING.has(scene)) ?? chosen[0];
  if (other !== undefined)
    throw new Failure(
      EXIT.usage,
      `demo: --model is for ${[...TALKING].join(", ")}, and ${other} takes none: portcullis demo ${[...TALKING].join(" ")} --model PROVIDER:NAME.`,
    );
  return loadModel(named, {});
}

/** The person at the terminal; undefined without one. */
function openTerminal(): ({ readonly person: Person } & Disposable) | undefined {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY || !output.isTTY) return undefined;
  const lines = new TerminalLines(input);
  const { approve } = createApprover({ mode: "ask", screen: createScreen(), input, output, lines });
  const read = async (question: string) => {
    await lines.discardTyped();
    output.write(question);
    const answer = await lines.next(new AbortController().signal);
    return answer.type === "line" ? answer.text : undefined;
  };
  return { person: { read, approve }, [Symbol.dispose]: () => lines.close() };
}

/** Runs the command line in a process of its own, and shows what it prints. */
async function runCommand(args: readonly string[], signal: AbortSignal): Promise<Ran> {
  writeStdout(styleText("dim", `$ portcullis ${args.map(quoted).join(" ")}\n`));
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
  { sandbox, journal }: { readonly sandbox: ReturnType<typeof parseSandbox>; readonly journal: Journal | undefined },
  signal: AbortSignal,
): Promise<boolean> {
  heading(`${name}: the question`);
  const { task } = await loadTask(exampleFile(name, "task.json"));
  writeStdout(`${task.question}\n`);
  const tools = await exampleTools(name);
  let listen: (event: ExecutionEvent) => void = () => {};
  await using runtime = await createRuntime({
    tools,
    sandbox,
    onEvent: (event) => listen(event),
    ...(journal && { journal }),
  });
  let right = true;
  for (const language of runtime.sandbox.languages) {
    const program = language === "javascript" ? task.program : pythonProgram(name);
    if (program === undefined) continue;
    heading(`the program, as a model might write it in ${NAMES[language]}`);
    writeStdout(program);
    const progress = showProgress(process.stderr);
    listen = progress.onEvent;
    const report = await runtime.execute(program, { language, signal }).finally(() => progress.end());
    if (signal.aborted) return false;
    heading("the answer");
    writeStdout(`${report.output.text}\n`);
    right = showVerdict(report, task.answer) && right;
    heading("what went where");
    writeStdout(`${await funnel(runtime, report)}\n`);
  }
  return right;
}

function pythonProgram(name: DemoName): string | undefined {
  const file = exampleFile(name, "program.py");
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

const NAMES: Readonly<Record<Language, string>> = { javascript: "JavaScript", python: "Python" };

function showVerdict({ outcome }: Report, expected: unknown): boolean {
  const { verdict, difference = `expected ${JSON.stringify(expected)}` } = judge(outcome, expected);
  writeStdout(
    verdict === "right"
      ? styleText("green", "✓ right: the same as computed by other code on the raw data\n")
      : styleText("red", `✗ wrong: ${oneLine(difference)}\n`),
  );
  return verdict === "right";
}

/** A table of the bytes and tokens that the tools returned, and of those that reach the model. */
async function funnel(runtime: Runtime, report: Report): Promise<string> {
  const results = await resultTexts(runtime, report.execution);
  const tokens = results.reduce((sum, text) => sum + countTokens(text), 0);
  const seconds = ((report.usage.runningMs + report.usage.waitingMs) / 1000).toFixed(2);
  const row = (what: string, bytes: number, count: number) => [what, byteText(bytes), count.toLocaleString("en-US")];
  return `${table(
    ["", "bytes", "tokens (o200k)"],
    [
      row(`${report.usage.calls} calls returned`, report.usage.bytesIn, tokens),
      row("reached the model", report.usage.bytesOut, countTokens(report.output.text)),
    ],
    ["bytes", "tokens (o200k)"],
  )}\nin ${seconds} s, of which the program ran ${(report.usage.runningMs / 1000).toFixed(2)} s`;
}

async function resultTexts(runtime: Runtime, execution: string): Promise<string[]> {
  const turns = pastTurns(await runtime.execution(execution).records());
  return turns.flatMap(({ event }) => (event.kind === "answer" ? [event.body] : []));
}
