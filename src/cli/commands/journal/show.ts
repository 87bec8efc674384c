import { type ExecutionId, monotonic, pause, PortcullisError } from "../../../base/index.ts";
import { type ListedExecution, listExecutions } from "../../../runtime/executions/index.ts";
import type { Journal } from "../../../journal/journal.ts";
import { HOST, readHeader, readRecords } from "../../../journal/reading/index.ts";
import { titleIn } from "../../../serve/views/parts/first-message.ts";
import { viewExecution } from "../../../serve/views/view-execution.ts";
import type { CommandOptions, SHOW } from "../../command-options.ts";
import { EXIT, UsageFailure, cancelOnSignal } from "../../failure.ts";
import { findExecution, readResumedHeader, existingJournal } from "../../input/open-journal.ts";
import { executionLines, listLine, newLines } from "../../terminal/executions/execution-text.ts";
import { sameAs } from "../../terminal/executions/waiting-hints.ts";
import { printJson, printLines, standardStreams, writeStderr } from "../../terminal/standard-streams.ts";

/**
 * `portcullis show`: shows one execution as the journal has it, its program or task, its calls, decisions and outcome; or lists
 * what the journal holds, if none is named.
 */
export async function runShow(named: string | undefined, options: CommandOptions<typeof SHOW>): Promise<number | void> {
  const { json, follow, open, tenant, journal: path } = options;
  if (json && follow) throw new UsageFailure("show: --json and --follow are two ways to show it. Give one of them.");
  if (named === undefined ? follow : open)
    throw new UsageFailure("show: --follow goes with the id of an execution, --open without one.");
  await using journal = existingJournal(path);
  if (named === undefined) return await list(journal, options);
  const id = await findExecution(journal, named, tenant);
  if (follow) return await followExecution(journal, id, path);
  if (json) for await (const record of readRecords(journal, id, HOST)) printJson(record);
  else await printLines((await showText(journal, id, path)).split("\n"));
}

/** Lists what the journal holds, the latest first. With `--json`, one document a line. */
async function list(journal: Journal, { open, tenant, json }: CommandOptions<typeof SHOW>): Promise<void> {
  const onDamaged = ({ message }: PortcullisError) => writeStderr(`${message} It is not listed.\n`);
  let isEmpty = true;
  for await (const row of listExecutions(journal, { open, tenant, onDamaged })) {
    isEmpty = false;
    if (json) printJson(row);
    else await printLines([listLine(row, await titleFor(journal, row))]);
  }
  if (isEmpty) writeStderr("The journal holds no such execution.\n");
}

/** What an execution is called; undefined if its header cannot be read. */
async function titleFor(journal: Journal, { execution, tenant }: ListedExecution): Promise<string | undefined> {
  try {
    const header = await readHeader(journal, execution, { tenant });
    return header && (await titleIn(journal, header));
  } catch (error) {
    if (PortcullisError.is(error)) return undefined;
    throw error;
  }
}

/** What `show` prints of an execution. `path` is the file of its journal. Rejects as `viewExecution` does. */
export async function showText(journal: Journal, id: ExecutionId, path?: string): Promise<string> {
  const view = await viewExecution(journal, id);
  return executionLines(view, sameAs(await readResumedHeader(journal, id), path)).join("\n");
}

/** How often the journal is looked at, in milliseconds. */
const LOOK_MS = 250;
/** Maximum share of the time that looking takes. */
const LOOKING_SHARE = 1 / 5;

/** Prints an execution as `show` does, and then the lines that come or change, until it ends. Ctrl-C ends the command, and changes nothing. */
async function followExecution(journal: Journal, id: ExecutionId, path: string | undefined): Promise<number> {
  const same = sameAs(await readResumedHeader(journal, id), path);
  using cancelling = cancelOnSignal();
  const { signal } = cancelling;
  let before: readonly string[] = [];
  for (;;) {
    const since = monotonic();
    const view = await viewExecution(journal, id);
    const lines = executionLines(view, same, true);
    const fresh = newLines(lines, before);
    if (fresh.length > 0) await printLines(fresh);
    // The reader of the output may have gone.
    if (view.outcome !== undefined || standardStreams().stdout.destroyed) return EXIT.completed;
    before = lines;
    await pause(Math.max(LOOK_MS, (monotonic() - since) / LOOKING_SHARE), { signal });
    if (signal.aborted) return cancelling.exitCode;
  }
}
