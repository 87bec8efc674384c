import { mkdirSync } from "node:fs";
import { lstat, readFile, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { artifactNameFault } from "../../../gate/artifacts/artifact-name.ts";
import type { ReportArtifact, Report } from "../../../executions/output/index.ts";
import {
  EXIT,
  causeOf,
  CommandFailure,
  failureLine,
  agentExitCodeOf,
  exitCodeOf,
  cancelOnSignal,
} from "../../failure.ts";
import { oneLine, writeStderr, printJson, standardStreams } from "../../terminal/standard-streams.ts";
import type { AgentReport } from "../../../conversations/agent-report.ts";
import type { Journal } from "../../../journal/journal.ts";
import type { Header } from "../../../journal/record.ts";
import type { Logger } from "../../../gate/run/failure-log.ts";
import { createRuntime, type RuntimeOptions } from "../../../runtime/create-runtime.ts";
import type { RunningOptions } from "../../command-options.ts";
import { openAnyTools, tellUnassigned } from "../../input/open-tools.ts";
import { type ApproveMode, refuseLater } from "../../input/option-values.ts";
import { createApprover, Screen } from "../../terminal/executions/ask-approvals.ts";
import {
  type OperatorEntry,
  operatorEntry,
  printAgentReport,
  printFailures,
  printReport,
} from "../../terminal/executions/print-report.ts";
import { correctedHints, restsText, sameOr, tellHeld, waitingHints } from "../../terminal/executions/waiting-hints.ts";
import type { AnswerLines } from "../../terminal/terminal-lines.ts";

/** Makes the folder for artifacts, before anything runs. If `folder` is undefined, makes none. */
function makeArtifactsFolder(folder: string | undefined): void {
  if (folder === undefined) return;
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new CommandFailure(
      EXIT.environment,
      `--artifacts ${folder}: ${causeOf(error)}. Give a folder that can be written.`,
    );
  }
}

/**
 * Writes artifacts to files of a folder, one after the other, and says which. A text is written as it is, under its
 * name; any other value as JSON. A file that is there already and has another content stays as it is. Resolves with the
 * exit code: 0, or a failure's if an artifact was not written. If `folder` is undefined, writes none.
 */
export async function writeArtifacts(
  folder: string | undefined,
  artifacts: readonly ReportArtifact[],
): Promise<number> {
  if (folder === undefined) return EXIT.completed;
  let code: number = EXIT.completed;
  for (const artifact of artifacts) {
    const result = await writeOne(folder, artifact);
    if (!result.written) code = EXIT.environment;
    writeStderr(`portcullis: ${oneLine(result.text)}\n`);
  }
  return code;
}

async function writeOne(folder: string, { name, bytes, read }: ReportArtifact) {
  // The record may be from a journal that was made elsewhere, and many names would lead out of the folder.
  const fault = artifactNameFault(name);
  if (fault !== undefined) return { written: false, text: `an artifact was not written: ${fault}` };
  try {
    const value = await read();
    const file = join(folder, fileName(name, value));
    const content = typeof value === "string" ? value : `${JSON.stringify(value, undefined, 2)}\n`;
    if (await isWritten(file, content)) return { written: true, text: `${file} (${bytes} bytes)` };
    return { written: false, text: `${file} is there already with another content, and was left as it is.` };
  } catch (error) {
    return { written: false, text: `the artifact ${name} was not written: ${failureLine(error)}` };
  }
}

function fileName(name: string, value: unknown): string {
  if (typeof value === "string") return extname(name) === "" ? `${name}.txt` : name;
  return name.endsWith(".json") ? name : `${name}.json`;
}

/** Writes a file that is not there yet. False if there is one, or a link, with another content. */
async function isWritten(file: string, content: string): Promise<boolean> {
  try {
    await writeFile(file, content, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const { size } = await lstat(file);
  return size === Buffer.byteLength(content) && (await readFile(file, "utf8")) === content;
}

/** What the commands that run something work with. */
export type OpenRuntime = Awaited<ReturnType<typeof openRuntime>>;

interface MoreOptions extends Partial<RuntimeOptions> {
  /** The command itself tells of calls, and of those that wait. */
  readonly tellsCalls?: boolean;
  /** Those of a command that reads other lines of the terminal too. */
  readonly lines?: AnswerLines | undefined;
  /** Asked at each SIGINT, as `cancelOnSignal` says. */
  readonly interrupt?: () => boolean;
}

/** Opens tools and a runtime. Without a journal, decisions have to come at once. */
export async function openRuntime(
  options: RunningOptions,
  journal: Journal | undefined,
  { tellsCalls, lines, interrupt, ...more }: MoreOptions = {},
) {
  const { json, sandbox, approve: mode, policy, artifacts: folder, limit: limits, approveProgram } = options;
  const canWait = journal !== undefined;
  refuseLater(mode, canWait);
  makeArtifactsFolder(folder);
  await using opening = new AsyncDisposableStack();
  const open = opening.use(await openAnyTools(options));
  tellUnassigned(open, options);
  const cancelling = opening.use(cancelOnSignal(interrupt));
  const screen = new Screen();
  const operator: OperatorEntry[] = [];
  const { approve } = opening.use(createApprover({ mode, screen, canWait, lines }));
  const runtime = opening.use(
    await createRuntime({
      tools: open.tools,
      sandbox,
      logger: loggerFor(json ? operator : undefined, screen),
      approve,
      approvePrograms: approveProgram,
      limits,
      journal,
      policy,
      onEvent: json || tellsCalls ? undefined : tellHeld,
      ...more,
    }),
  );
  const stack = opening.move();
  return {
    runtime,
    /** The tools that there were when it was opened. */
    tools: open.tools,
    screen,
    /** Aborted when the process is asked to end. */
    signal: cancelling.signal,
    /** Decides calls; undefined if no decision can be made now: without a terminal, questions are answered `later`. */
    approve: decidesNow(mode) ? approve : undefined,
    options,
    /** What has failed at handlers, for `--json`. */
    operator,
    /** Writes artifacts. Resolves with the exit code of the command. */
    async end(code: number, artifacts: Report["artifacts"] = []): Promise<number> {
      const written = await writeArtifacts(folder, artifacts);
      return code === EXIT.cancelled ? cancelling.exitCode : code || written;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function decidesNow(mode: ApproveMode): boolean {
  const { stdin, stderr } = standardStreams();
  return mode === "ask" ? stdin.isTTY && stderr.isTTY : mode !== "later";
}

/** Keeps what fails at handlers, or prints it when it happens. */
function loggerFor(kept: OperatorEntry[] | undefined, screen: Screen): Logger {
  return {
    error(entry, message) {
      if (kept) kept.push(operatorEntry(entry, message));
      else screen.show(() => printFailures.error(entry, message));
    },
  };
}

type Printing = Pick<OpenRuntime, "options" | "operator">;

/** Prints the report of a program. `header` is of an execution that was taken up. Returns its exit code. */
export function printProgram({ options, operator }: Printing, report: Report, header?: Header): number {
  if (options.json) printJson({ ...report, operator });
  else {
    const same = { ...sameOr(options, header), model: undefined };
    const hints = [...waitingHints(report.execution, report.outcome, same), ...correctedHints(report, same)];
    printReport(report, hints);
  }
  return exitCodeOf(report);
}

/** Like `printProgram`. `rests`: only the user, or the host in the user's place, brings the conversation further. */
export function printConversation(
  { options, operator }: Printing,
  report: AgentReport<unknown>,
  header?: Header,
  rests?: boolean,
): number {
  const { execution, ending, answer, transcript, calls, usage, artifacts } = report;
  if (options.json) {
    const { turns } = transcript;
    printJson({ execution, ending, answer: answer ?? null, turns, calls, usage, artifacts, operator });
  } else {
    const same = sameOr(options, header);
    const hints = rests ? [`portcullis: ${restsText(execution, same)}`] : waitingHints(execution, ending, same);
    printAgentReport(report, hints);
  }
  return agentExitCodeOf(ending);
}
