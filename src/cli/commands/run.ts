import type { Language } from "../../../bridge/frames.ts";
import type { Limits } from "../../programs/limits.ts";
import { createRuntime } from "../../runtime.ts";
import { printJson } from "../terminal/print.ts";
import { printReport } from "../terminal/print-report.ts";
import { cancelOnSignal } from "../terminal/cancel-on-signal.ts";
import { EXIT, exitCodeOf } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { openTools, tellUnassigned, type ToolsOptions } from "../input/open-tools.ts";
import { parseSandbox } from "../input/parse-sandbox.ts";
import { createOperatorLog } from "../terminal/operator-log.ts";
import { createApprover } from "../terminal/ask-approvals.ts";
import { createScreen } from "../terminal/screen.ts";
import { parseApprove } from "../input/parse-approve.ts";
import { showProgress } from "../terminal/progress.ts";
import { journalPathOf, optionalJournal } from "../input/open-journal.ts";
import { readResultSchema } from "../input/read-result-schema.ts";
import { makeArtifactsFolder, writeArtifacts } from "../write-artifacts.ts";
import { readProgram } from "../input/read-program.ts";

export interface RunOptions extends ToolsOptions {
  readonly sandbox: string;
  /** By default from the extension of the program's file. */
  readonly language?: string;
  readonly limit: Partial<Limits>;
  readonly approve: string;
  readonly approveProgram?: boolean;
  readonly tenant?: string;
  /** Id of the execution; a new one by default. */
  readonly execution?: string;
  /** File of the journal; in memory by default. */
  readonly journal?: string;
  /** File with the JSON Schema of what the program has to return. */
  readonly result?: string;
  /** Folder for what the program has kept. */
  readonly artifacts?: string;
  readonly json?: boolean;
}

/** `portcullis run`: runs a program. Resolves with the exit code. The result goes to standard output, everything else to standard error. */
export async function run(file: string, options: RunOptions): Promise<number> {
  const sandbox = parseSandbox(options.sandbox);
  const journalPath = journalPathOf(options.journal);
  const canWait = journalPath !== undefined;
  if (options.execution !== undefined && !canWait)
    throw new Failure(
      EXIT.usage,
      "--execution needs a journal, which knows the execution again under its id: add --journal FILE.",
    );
  const mode = parseApprove(options.approve, canWait);
  const language = (options.language ?? languageOf(file)) as Language;
  if (language === "python" && sandbox !== "docker")
    throw new Failure(
      EXIT.usage,
      `The program ${file} is Python, which runs in containers only: add --sandbox docker.`,
    );
  const program = await readProgram(file);
  const result = await readResultSchema("--result", options.result);
  await makeArtifactsFolder(options.artifacts);
  await using open = await openTools(options);
  tellUnassigned(open, options);
  const screen = createScreen();
  const progress = options.json ? undefined : showProgress(process.stderr, screen);
  const operator = createOperatorLog();
  using cancelling = cancelOnSignal();
  using journal = optionalJournal(journalPath);
  using approver = createApprover({ mode, screen, canWait });
  try {
    await using runtime = await createRuntime({
      tools: open.tools,
      sandbox,
      ...(journal ? { journal } : {}),
      limits: options.limit,
      logger: operator,
      approve: approver.approve,
      approvePrograms: options.approveProgram ?? false,
      ...(options.tenant === undefined ? {} : { tenant: options.tenant }),
      ...(progress ? { onEvent: progress.onEvent } : {}),
    });
    const report = await runtime.execute(program, {
      language,
      signal: cancelling.signal,
      ...(result ? { result } : {}),
      ...(options.execution === undefined ? {} : { execution: options.execution }),
    });
    progress?.end();
    if (options.json) printJson({ ...report, operator: operator.entries });
    else {
      printReport(report, options);
      operator.print();
    }
    const written = await writeArtifacts(options.artifacts, report.artifacts);
    return report.outcome.type === "cancelled" ? cancelling.exitCode : exitCodeOf(report) || written;
  } finally {
    progress?.end();
  }
}

function languageOf(file: string): Language {
  return file.endsWith(".py") ? "python" : "javascript";
}
