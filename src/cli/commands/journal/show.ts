import { type ExecutionId, monotonic, pause, PortcullisError, countText, now } from "../../../base/index.ts";
import { type ListedExecution, listExecutions } from "../../../runtime/executions/index.ts";
import type { Journal } from "../../../journal/journal.ts";
import { HOST, readHeader, readRecords, readLines, readList } from "../../../journal/reading/index.ts";
import { titleIn } from "../../../serve/views/parts/first-message.ts";
import { viewExecution } from "../../../serve/views/view-execution.ts";
import type { CommandOptions, SHOW, CHECK, EXPORT, IMPORT, PRUNE } from "../../command-options.ts";
import { causeOf, EXIT, UsageFailure, cancelOnSignal } from "../../failure.ts";
import {
  findExecution,
  readResumedHeader,
  existingJournal,
  journalPathOf,
  namedJournal,
  type OpenJournal,
} from "../../input/open-journal.ts";
import { executionLines, listLine, newLines } from "../../terminal/executions/execution-text.ts";
import { sameAs } from "../../terminal/executions/waiting-hints.ts";
import {
  printJson,
  printLines,
  standardStreams,
  writeStderr,
  oneLine,
  writeInTime,
  writeStdout,
} from "../../terminal/standard-streams.ts";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { exportLines, importLines } from "../../../journal/lines.ts";

/**
 * `portcullis show`: shows one execution as the journal has it, its program or task, its calls, decisions and outcome; or lists
 * what the journal holds, if none is named.
 */
export async function runShow(named: string | undefined, options: CommandOptions<typeof SHOW>): Promise<number> {
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
  return EXIT.completed;
}

/** Lists what the journal holds, the latest first. With `--json`, one document a line. */
async function list(journal: Journal, { open, tenant, json }: CommandOptions<typeof SHOW>): Promise<number> {
  const onDamaged = ({ message }: PortcullisError) => writeStderr(`${message} It is not listed.\n`);
  let isEmpty = true;
  for await (const row of listExecutions(journal, { open, tenant, onDamaged })) {
    isEmpty = false;
    if (json) printJson(row);
    else await printLines([listLine(row, await titleFor(journal, row))]);
  }
  if (isEmpty) writeStderr("The journal holds no such execution.\n");
  return EXIT.completed;
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

/** `portcullis journal export`: prints executions as JSON lines, all by default. */
export async function exportJournal(ids: readonly string[], options: CommandOptions<typeof EXPORT>): Promise<number> {
  await using journal = existingJournal(options.journal);
  const found = await Promise.all(ids.map((id) => findExecution(journal, id)));
  for await (const line of exportLines(journal, found.length > 0 ? found : oldestFirst(journal))) {
    // JSON leaves characters unescaped that control a terminal. With them escaped, the record is the same.
    await writeInTime(`${line}\n`);
  }
  return EXIT.completed;
}

async function openFile(file: string): Promise<AsyncIterable<Uint8Array>> {
  const stream = createReadStream(file);
  try {
    await once(stream, "readable");
  } catch (error) {
    throw new UsageFailure(`The file ${oneLine(file)} cannot be read: ${causeOf(error)}.`, { cause: error });
  }
  return stream;
}

/** `portcullis journal import`: reads JSON lines from a file or standard input, and tells how many executions were added. */
export async function importJournal(file: string, options: CommandOptions<typeof IMPORT>): Promise<number> {
  const input = file === "-" ? standardStreams().stdin : await openFile(file);
  await using stack = new AsyncDisposableStack();
  // Opened with the first execution that was read whole: invalid lines leave no journal behind.
  let opened: OpenJournal | undefined;
  const open = () => (opened ??= stack.use(namedJournal(options.journal)));
  const journal: Parameters<typeof importLines>[0] = {
    create: (header) => open().create(header),
    append: (...given) => open().append(...given),
  };
  if (journalPathOf(options.journal) === undefined) open();
  let added = 0;
  let skipped = 0;
  const passing = options.skipExisting ? { onExisting: () => (skipped += 1) } : {};
  try {
    for await (const _ of importLines(journal, readLines(input), passing)) added += 1;
  } catch (cause) {
    if (!PortcullisError.is(cause) || cause.code !== "execution_exists") throw cause;
    throw new UsageFailure(`${cause.message} To pass over what is there already: --skip-existing.`, { cause });
  }
  const known = skipped === 0 ? "" : `, ${executionsText(skipped, "in the journal already")}`;
  if (options.json) printJson({ added, skipped });
  else writeStderr(`${executionsText(added, "added")}${known}.\n`);
  return EXIT.completed;
}

/** `portcullis journal prune`: deletes old executions. */
export async function pruneJournal(options: CommandOptions<typeof PRUNE>): Promise<number> {
  const before = now() - options.olderThan;
  await using journal = existingJournal(options.journal);
  const deleted = await journal.prune({ before, open: options.open === true });
  if (options.json) printJson({ deleted });
  else writeStderr(`${executionsText(deleted, "deleted")}.\n`);
  return EXIT.completed;
}

/** `portcullis journal check`: reads everything. Exit code 1 if something is damaged. */
export async function checkJournal(options: CommandOptions<typeof CHECK>): Promise<number> {
  await using journal = existingJournal(options.journal);
  let problems = 0;
  for await (const { execution, problem } of journal.check()) {
    problems += 1;
    if (options.json) printJson({ execution, problem });
    else writeStdout(`${oneLine(execution === undefined ? problem : `${execution}: ${problem}`)}\n`);
  }
  writeStderr(problems === 0 ? "The journal is whole.\n" : `${countText(problems, "problem")}.\n`);
  return problems === 0 ? EXIT.completed : EXIT.failed;
}

async function* oldestFirst(journal: Journal): AsyncGenerator<string> {
  const ids: string[] = [];
  for await (const { execution } of readList(journal)) ids.push(execution);
  yield* ids.toReversed();
}

/** `1 execution was added`, `3 executions were added`. */
function executionsText(number: number, done: string): string {
  return `${countText(number, "execution")} ${number === 1 ? "was" : "were"} ${done}`;
}
