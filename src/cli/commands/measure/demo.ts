import { standardStreams, writeStdout, writeStyled } from "../../terminal/standard-streams.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import type { Language } from "../../../../bridge/frames.ts";
import { differenceFrom } from "../../../comparison/task.ts";
import { byteText } from "../../../output/byte-text.ts";
import { count, counted } from "../../../output/count-text.ts";
import type { Report } from "../../../output/report.ts";
import { pastTurns } from "../../../programs/from-journal/read-turns.ts";
import { createRuntime, type Runtime } from "../../../runtime.ts";
import type { Model } from "../../../models/model.ts";
import { createApprover } from "../../terminal/executions/ask-approvals.ts";
import { Screen } from "../../terminal/screen.ts";
import { TerminalLines } from "../../terminal/terminal-lines.ts";
import { countTokens } from "../../../tools/count-tokens.ts";
import { cancelOnSignal } from "../../terminal/cancel-on-signal.ts";
import {
  DEFAULT_DEMOS,
  DEMOS,
  SCENES,
  TALKING,
  exampleFile,
  exampleModule,
  exampleTools,
  isScene,
  requireData,
  requirePackages,
  type DemoName,
  type SceneName,
} from "../../input/examples.ts";
import { Failure } from "../../failure.ts";
import { loadModel } from "../../input/load-model.ts";
import { loadModule } from "../../input/load-module.ts";
import type { CommandOptions, DEMO } from "../../command-options.ts";
import { EXIT } from "../../exit-code.ts";
import { word } from "../../input/option-values.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { quoted } from "../../terminal/executions/waiting-hints.ts";
import { table } from "../../terminal/print.ts";
import { loadTask } from "../../input/task-file.ts";
import type { Approve } from "../../../gate/approve/approval.ts";

const heading = (text: string) => writeStyled("bold", `\n${text}\n`);

/** `portcullis demo`: runs the examples on real data, checks their answers, and compares the bytes that tools returned with those that reach the model. Resolves with the exit code. */
export async function demo(
  names: readonly string[],
  { sandbox, model: playing }: CommandOptions<typeof DEMO>,
): Promise<number> {
  const named = names.map((name) => word([...DEMOS, ...SCENES])("demo", name));
  const scenes = named.filter(isScene);
  const chosen = named.length > 0 ? named.filter((name) => !isScene(name)) : DEFAULT_DEMOS;
  requireData(chosen);
  requirePackages(chosen);
  const model = await modelFor(scenes, chosen, playing);
  using cancelling = cancelOnSignal();
  let wrong = 0;
  for (const scene of scenes) {
    wrong += (await playScene(scene, model, cancelling.signal)) ? 0 : 1;
    if (cancelling.signal.aborted) return cancelling.exitCode;
  }
  for (const name of chosen) {
    wrong += (await runExample(name, sandbox, cancelling.signal)) ? 0 : 1;
    if (cancelling.signal.aborted) return cancelling.exitCode;
  }
  return wrong === 0 ? EXIT.completed : EXIT.failed;
}

/** Plays a scene, and says whether all of it went as it should. */
async function playScene(name: SceneName, model: Model | undefined, signal: AbortSignal): Promise<boolean> {
  const module = exampleModule(name, "demo");
  const play = (await loadModule("demo", module, "a function of a scene")) as (scene: Scene) => Promise<boolean>;
  using terminal = model && openTerminal();
  const isRight = await play({
    heading,
    print: (line) => writeStdout(`${line}\n`),
    model,
    person: terminal?.person,
    signal,
    file: (file) => relative(process.cwd(), exampleModule(name, file)),
    portcullis: (args) => runCommand(args, signal),
  });
  if (isRight) writeStyled("green", "\n✓ as it should be\n");
  else writeStyled("red", "\n✗ something else happened\n");
  return isRight;
}

/** The model that `--model` names. Throws a `Failure` if something that is to be shown takes no model. */
async function modelFor(
  scenes: readonly SceneName[],
  chosen: readonly DemoName[],
  named: string | undefined,
): Promise<Model | undefined> {
  if (named === undefined) return undefined;
  const other = scenes.find((scene) => scene !== TALKING) ?? chosen[0];
  if (other !== undefined)
    throw new Failure(
      EXIT.usage,
      `demo: --model is for ${TALKING}, and ${other} takes none: portcullis demo ${TALKING} --model PROVIDER:NAME.`,
    );
  return loadModel(named, {});
}

/** The person at the terminal; undefined without one. */
function openTerminal(): ({ readonly person: Person } & Disposable) | undefined {
  const { stdin: input, stderr: output } = standardStreams();
  if (!input.isTTY || !output.isTTY) return undefined;
  const lines = new TerminalLines(input, output);
  const { approve } = createApprover({ mode: "ask", screen: new Screen(), input, output, lines });
  const read = async (question: string) => {
    await lines.discardTyped();
    const answer = await lines.ask(question, new AbortController().signal);
    return answer.type === "line" ? answer.text.trim() : undefined;
  };
  return { person: { read, approve }, [Symbol.dispose]: () => lines[Symbol.dispose]() };
}

/** Runs the command line in a process of its own, and shows what it prints. */
async function runCommand(args: readonly string[], signal: AbortSignal): Promise<Ran> {
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
  const tools = await exampleTools(name);
  await using runtime = await createRuntime({ tools, sandbox, limits });
  let right = true;
  for (const language of runtime.sandbox.languages) {
    const program = language === "javascript" ? task.program : pythonProgram(name);
    if (program === undefined) continue;
    heading(`the program, as a model might write it in ${NAMES[language]}`);
    writeStdout(program);
    const report = await runtime.execute(program, { language, signal });
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
  const difference = differenceFrom(expected, outcome.type === "completed" ? outcome.value : undefined);
  if (difference === undefined) writeStyled("green", "✓ right: the same as computed by other code on the raw data\n");
  else writeStyled("red", `✗ wrong: ${oneLine(difference)}\n`);
  return difference === undefined;
}

/** A table of the bytes and tokens that the tools returned, and of the bytes and tokens that reach the model. */
async function funnel(runtime: Runtime, report: Report): Promise<string> {
  const results = await resultTexts(runtime, report.execution);
  const tokens = results.reduce((sum, text) => sum + countTokens(text), 0);
  const streams = await streamed(runtime, report);
  const seconds = ((report.usage.runningMs + report.usage.waitingMs) / 1000).toFixed(2);
  const row = (what: string, bytes: number, number: number) => [what, byteText(bytes), count(number)];
  const returned = counted(report.usage.calls, "call");
  return `${table(
    ["", "bytes", "tokens (o200k)"],
    [
      streams
        ? [`${returned} gave ${counted(streams.items, "item")}`, byteText(report.usage.bytesIn), streams.tokens]
        : row(`${returned} returned`, report.usage.bytesIn, tokens),
      row("reached the model", report.usage.bytesOut, countTokens(report.output.text)),
    ],
    ["bytes", "tokens (o200k)"],
  )}\nin ${seconds} s, of which the program ran ${(report.usage.runningMs / 1000).toFixed(2)} s`;
}

/** Bytes of items whose tokens are counted: to count those of gigabytes would take hours. */
const SAMPLE_BYTES = 1024 * 1024;

/** The items of all streams, and about how many tokens they have; undefined if the program was given none. */
async function streamed(
  runtime: Runtime,
  { execution, calls, usage }: Report,
): Promise<{ readonly items: number; readonly tokens: string } | undefined> {
  const items = calls.reduce((sum, call) => sum + (call.items ?? 0), 0);
  if (items === 0) return undefined;
  const texts: string[] = [];
  let bytes = 0;
  for (const { event } of pastTurns(await runtime.execution(execution).records())) {
    if (event.kind !== "items" || event.body === undefined || bytes > SAMPLE_BYTES) continue;
    texts.push(event.body);
    bytes += event.bytes;
  }
  const sampled = texts.reduce((sum, text) => sum + countTokens(text), 0);
  const millions = Math.round((sampled / bytes) * (usage.bytesIn / 1e6));
  return { items, tokens: `about ${count(millions)} million` };
}

async function resultTexts(runtime: Runtime, execution: string): Promise<string[]> {
  const turns = pastTurns(await runtime.execution(execution).records());
  return turns.flatMap(({ event }) => (event.kind === "answer" ? [event.body] : []));
}

/** What `portcullis demo` gives a scene: an example that runs commands in place of a task with one answer. */
export interface Scene {
  /** Path of one of the scene's own modules, without its extension, as a command takes it. */
  readonly file: (name: string) => string;
  readonly heading: (text: string) => void;
  readonly print: (line: string) => void;
  /** What `--model` names; undefined if the scene's own model plays. */
  readonly model: Model | undefined;
  /** The person at the terminal; undefined if there is none, or if the scene's own model plays. */
  readonly person: Person | undefined;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Runs the command line in a process of its own, shows the command and what it prints, and gives both back. */
  readonly portcullis: (args: readonly string[]) => Promise<Ran>;
}

/** A person who takes part in a scene. */
export interface Person {
  /** Puts a question, and resolves with the line that the person types; undefined once the input has ended. */
  readonly read: (question: string) => Promise<string | undefined>;
  readonly approve: Approve;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
