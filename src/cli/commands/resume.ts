import { optionError, PortcullisError } from "../../errors.ts";
import type { AgentReport } from "../../agent/agent-report.ts";
import type { Approve } from "../../gate/approval.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Model } from "../../models/model.ts";
import { cleanText } from "../../output/clean-text.ts";
import { writeStdout } from "../terminal/standard-streams.ts";
import type { Report } from "../../output/report.ts";
import type { ClientResult } from "../../programs/decide.ts";
import type { Unrecovered } from "../../executions/recover.ts";
import { RECOVER_RULES, type RecoveredConversation } from "../../executions/recover-options.ts";
import { createRuntime, type Runtime } from "../../runtime.ts";
import { agentExitCodeOf, EXIT, exitCodeOf } from "../exit-code.ts";
import { findExecution } from "../input/find-execution.ts";
import { loadModel } from "../input/load-model.ts";
import { Failure, reasonOf } from "../failure.ts";
import { existingJournal } from "../input/open-journal.ts";
import { openTools, type ToolsOptions } from "../input/open-tools.ts";
import { type ApproveMode, parseApprove } from "../input/parse-approve.ts";
import { parseModel } from "../input/parse-model.ts";
import { parseJson } from "../input/parse-json.ts";
import { readResultSchema } from "../input/read-result-schema.ts";
import { parseWhole } from "../input/parse-whole.ts";
import { parseSandbox } from "../input/parse-sandbox.ts";
import { createApprover } from "../terminal/ask-approvals.ts";
import { cancelOnSignal } from "../terminal/cancel-on-signal.ts";
import { makeArtifactsFolder, writeArtifacts } from "../write-artifacts.ts";
import { oneLine } from "../terminal/one-line.ts";
import { createOperatorLog } from "../terminal/operator-log.ts";
import { printJson } from "../terminal/print.ts";
import { printAgentJson, printAgentReport } from "../terminal/print-agent-report.ts";
import { printReport } from "../terminal/print-report.ts";
import { createScreen } from "../terminal/screen.ts";

export interface ResumeOptions extends ToolsOptions {
  /** The model of a conversation; by default the one that its journal names. */
  readonly model?: string;
  readonly baseUrl?: string;
  readonly sandbox: string;
  readonly approve: string;
  /** `CALL=JSON`, once for each call that a client answers. */
  readonly result: readonly string[];
  /** File with the JSON Schema of what the program has to return, as the execution began. */
  readonly resultSchema?: string;
  readonly allowChangedTools?: boolean;
  /** Folder for what was kept. */
  readonly artifacts?: string;
  readonly tenant?: string;
  readonly journal?: string;
  readonly json?: boolean;
}

/** `portcullis resume`: takes an execution up, and prints its report. Resolves with its exit code, which is 6 if it waits. */
export async function resume(named: string, options: ResumeOptions): Promise<number> {
  const { allowChangedTools = false, tenant } = options;
  const results = Object.fromEntries(options.result.map(parseResult));
  const result = await readResultSchema("--result-schema", options.resultSchema);
  await makeArtifactsFolder(options.artifacts);
  return withRuntime(options, async ({ runtime, signal, journal, approve, print, printAgent }) => {
    const about = {
      results,
      allowChangedTools,
      signal,
      ...(approve ? { approve } : {}),
      ...(tenant === undefined ? {} : { tenant }),
    };
    const execution = await findExecution(journal, named, tenant ?? "default");
    const modelName = await modelNameOf(journal, execution);
    if (modelName === undefined) {
      const report = await runtime.resume(execution, { ...about, ...(result ? { result } : {}) });
      print(report);
      const written = await writeArtifacts(options.artifacts, report.artifacts);
      return exitCodeOf(report) || written;
    }
    const model =
      options.model === undefined
        ? recordedModel(modelName, modelOptions(options))
        : await loadModel(options.model, modelOptions(options));
    const report = await runtime.resumeAgent(execution, { ...about, model });
    printAgent(report);
    const written = await writeArtifacts(options.artifacts, report.artifacts);
    return agentExitCodeOf(report.ending) || written;
  });
}

/** The model of a conversation as its journal names it; undefined for a program. */
async function modelNameOf(journal: Journal, execution: string): Promise<string | undefined> {
  for await (const record of journal.read(execution))
    return record.type === "header" && record.kind === "conversation" ? record.model : undefined;
  return undefined;
}

/** The model that a journal names. Models of modules have names that say nothing about where they are. */
function recordedModel(name: string, options: { readonly baseUrl?: string }): Model {
  try {
    // A journal may come from elsewhere: it names a provider's model, and no file that is loaded.
    return parseModel(name, options);
  } catch (error) {
    if (!PortcullisError.is(error) || error.code !== "option_invalid") throw error;
    throw new Failure(
      EXIT.usage,
      `The conversation began with the model ${oneLine(name)}, which is none of a provider. Give the module that exports it with --model.`,
    );
  }
}

function modelOptions({ baseUrl }: { readonly baseUrl?: string }): { readonly baseUrl?: string } {
  return baseUrl === undefined ? {} : { baseUrl };
}

/**
 * `portcullis recover`: takes up every execution whose host died. Resolves with 0 once each has ended or waits, and with
 * 1 if some could not be taken up.
 */
export async function recover(
  options: Omit<ResumeOptions, "result"> & { readonly concurrency?: string },
): Promise<number> {
  const concurrency =
    options.concurrency === undefined
      ? {}
      : { concurrency: parseWhole("--concurrency", options.concurrency, RECOVER_RULES.concurrency) };
  const given = options.model === undefined ? undefined : await loadModel(options.model, modelOptions(options));
  const model = ({ model: name, execution }: RecoveredConversation) => {
    if (given?.name === name) return given;
    process.stderr.write(`Left open: conversation ${oneLine(execution)} needs --model ${oneLine(name)}.\n`);
    return undefined;
  };
  return withRuntime(options, async ({ runtime, journal, print, printAgent }) => {
    let code: number = EXIT.completed;
    for await (const recovered of runtime.recover({ ...concurrency, model })) {
      if ("transcript" in recovered) {
        printAgent(recovered);
        continue;
      }
      if (!("error" in recovered)) {
        print(recovered);
        continue;
      }
      code = EXIT.failed;
      printUnrecovered(recovered, options.json === true);
    }
    await tellDriven(journal);
    return code;
  });
}

/** A host that has just died holds its executions for as long as its lease lasts. */
async function tellDriven(journal: Journal): Promise<void> {
  for await (const { execution, lease } of journal.list({ open: true }))
    if (lease && lease.until > Date.now())
      process.stderr.write(
        `Left alone: ${oneLine(execution)} is held by another process until ${new Date(lease.until).toISOString()}. If that process has died, run this command again then.\n`,
      );
}

function printUnrecovered({ execution, tenant, error }: Unrecovered, asJson: boolean): void {
  const code = PortcullisError.is(error) ? { code: error.code } : {};
  if (asJson) printJson({ execution, tenant, error: { ...code, message: error.message } });
  else process.stderr.write(`Not taken up: ${oneLine(execution)}. ${reasonOf(error)}\n`);
}

interface ResumeParts {
  readonly runtime: Runtime;
  readonly journal: Journal;
  readonly signal: AbortSignal;
  /** The approver, where it can decide now. */
  readonly approve: Approve | undefined;
  readonly print: (report: Report) => void;
  readonly printAgent: (report: AgentReport) => void;
}

async function withRuntime(
  options: Omit<ResumeOptions, "result">,
  work: (parts: ResumeParts) => Promise<number>,
): Promise<number> {
  const mode = parseApprove(options.approve, true);
  await using open = await openTools(options);
  const operator = createOperatorLog();
  using cancelling = cancelOnSignal();
  using journal = existingJournal(options.journal);
  using approver = createApprover({ mode, screen: createScreen(), canWait: true });
  await using runtime = await createRuntime({
    tools: open.tools,
    sandbox: parseSandbox(options.sandbox),
    journal,
    logger: operator,
    approve: approver.approve,
  });
  const code = await work({
    runtime,
    journal,
    signal: cancelling.signal,
    approve: canDecide(mode) ? approver.approve : undefined,
    print: (report) => {
      if (options.json) printJson({ ...report, operator: operator.entries });
      else printReport(report, options);
    },
    printAgent: (report) => {
      if (options.json) return printAgentJson(report, operator);
      if (report.answer !== undefined) writeStdout(`${cleanText(report.answer)}\n`);
      printAgentReport(report, options);
    },
  });
  if (!options.json) operator.print();
  return code;
}

/** Without a terminal, questions are answered `later`. */
function canDecide(mode: ApproveMode): boolean {
  return mode === "ask" ? process.stdin.isTTY && process.stderr.isTTY : mode !== "later";
}

function parseResult(text: string): readonly [call: string, result: ClientResult] {
  const end = text.indexOf("=");
  if (end < 1) throw optionError("--result", 'CALL=JSON, like 3={"units":4}', text);
  return [text.slice(0, end), { value: parseJson("--result", text.slice(end + 1)) }];
}
