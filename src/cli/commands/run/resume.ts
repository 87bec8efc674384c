import { PortcullisError } from "../../../base/index.ts";
import { readPastConversation, standingOfConversation } from "../../../conversations/from-journal/index.ts";
import type { AgentReport } from "../../../conversations/agent-report.ts";
import type { Journal } from "../../../journal/journal.ts";
import { HOST, readHeader, readList } from "../../../journal/reading/index.ts";
import type { Header } from "../../../journal/record.ts";
import { leasedUntil } from "../../../executions/driven.ts";
import type { RecoveredConversation, RecoveredExecution, Unrecovered } from "../../../runtime/executions/index.ts";
import { findExecution, existingJournal } from "../../input/open-journal.ts";
import { loadFallbacks, loadModel, recordedModel } from "../../input/load-module.ts";
import { failureLine, UsageFailure, EXIT } from "../../failure.ts";
import { oneLine, printJson, writeStderr, writeStdout } from "../../terminal/standard-streams.ts";
import type { CommandOptions, RESUME } from "../../command-options.ts";
import { openRuntime, type OpenRuntime, printConversation, printProgram } from "./open-runtime.ts";

/**
 * `portcullis resume`: takes an execution up, and prints its report. Resolves with its exit code, which is 6 if it waits.
 * Without a name it takes up every execution whose host died.
 */
export async function runResume(named: string | undefined, options: CommandOptions<typeof RESUME>): Promise<number> {
  if (named === undefined) return await recover(options);
  const { allowChangedTools = false, tenant, baseUrl, fallback, stream } = options;
  const results = Object.fromEntries(options.result);
  await using journal = existingJournal(options.journal);
  await using open = await openRuntime(options, journal);
  const { runtime, signal, approve } = open;
  const about = { results, allowChangedTools, signal, approve };
  const execution = await findExecution(journal, named, tenant ?? "default");
  const handle = runtime.execution(execution, { tenant });
  const header = await readHeader(journal, execution, HOST);
  if (header?.kind !== "conversation") {
    const report = await handle.resume({ ...about, result: options.resultSchema });
    return await open.end(printProgram(open, report, header), report.artifacts);
  }
  const models = { stream, baseUrl };
  const fallbacks = await loadFallbacks(fallback, models);
  const past = await readPastConversation(journal, execution, header.tenant);
  const answering = past.answering.model;
  const model =
    options.model === undefined
      ? (fallbacks.find(({ name }) => name === answering) ?? recordedModel(answering, models))
      : await loadModel(options.model, models);
  const report = await handle.resume({ ...about, model, fallbacks });
  const standing = standingOfConversation(past);
  const rests = standing.state === "waiting" && standing.rests;
  return await open.end(printWhole(open, report, header, rests), report.artifacts);
}

/** Prints the answer of a conversation that was taken up: it was not printed while it came. */
function printWhole(open: OpenRuntime, report: AgentReport, header: Header | undefined, rests?: boolean): number {
  if (!open.options.json && report.answer !== undefined) writeStdout(`${report.answer}\n`);
  return printConversation(open, report, header, rests);
}

/** Resolves with 0 once each execution has ended or waits, and with 1 if some could not be taken up. */
async function recover(options: CommandOptions<typeof RESUME>): Promise<number> {
  const { tenant, baseUrl, stream, result, resultSchema, artifacts, allowChangedTools } = options;
  if (result.length > 0 || [resultSchema, artifacts, allowChangedTools].some((one) => one !== undefined))
    throw new UsageFailure(
      "resume: --result, --result-schema, --artifacts and --allow-changed-tools are for one execution: give its id.",
    );
  const models = { stream, baseUrl };
  const loaded = options.model === undefined ? [] : [await loadModel(options.model, models)];
  const fallbacks = await loadFallbacks(options.fallback, models);
  const model = ({ model: name, execution }: RecoveredConversation) => {
    const match = [...loaded, ...fallbacks].find((one) => one.name === name);
    if (match) return match;
    writeStderr(`Left open: conversation ${oneLine(execution)} needs --model ${oneLine(name)}.\n`);
    return undefined;
  };
  await using journal = existingJournal(options.journal);
  await using open = await openRuntime(options, journal);
  let code: number = EXIT.completed;
  const only = (one: RecoveredExecution) => tenant === undefined || one.tenant === tenant;
  for await (const recovered of open.runtime.recover({ model, fallbacks: () => fallbacks, only })) {
    if ("error" in recovered) {
      code = EXIT.failed;
      printUnrecovered(recovered, options.json);
      continue;
    }
    const header = await readHeader(journal, recovered.execution, HOST);
    if ("transcript" in recovered) printWhole(open, recovered, header);
    else printProgram(open, recovered, header);
  }
  await tellDriven(journal, only);
  return await open.end(code);
}

/** A host that has just died holds its executions for as long as its lease lasts. */
async function tellDriven(journal: Journal, only: (one: RecoveredExecution) => boolean): Promise<void> {
  for await (const { execution, tenant, lease } of readList(journal, { open: true })) {
    const until = leasedUntil(lease);
    if (until !== undefined && only({ execution, tenant }))
      writeStderr(
        `Left alone: ${oneLine(execution)} is held by another process until ${new Date(until).toISOString()}. If that process has died, run this command again then.\n`,
      );
  }
}

function printUnrecovered({ execution, tenant, error }: Unrecovered, asJson: boolean | undefined): void {
  const code = PortcullisError.is(error) ? { code: error.code } : {};
  if (asJson) printJson({ execution, tenant, error: { ...code, message: error.message } });
  else writeStderr(`Not resumed: ${oneLine(execution)}. ${failureLine(error)}\n`);
}
