import { countText, now, hasCode } from "../../../base/index.ts";
import type { Journal } from "../../../journal/journal.ts";
import { readLines, readList } from "../../../journal/reading/index.ts";
import type { CommandOptions, CHECK, EXPORT, IMPORT, PRUNE } from "../../command-options.ts";
import { causeOf, EXIT, UsageFailure } from "../../failure.ts";
import {
  findExecution,
  existingJournal,
  journalPathOf,
  namedJournal,
  type OpenJournal,
} from "../../input/open-journal.ts";
import {
  printJson,
  standardStreams,
  writeStderr,
  oneLine,
  writeInTime,
  writeStdout,
} from "../../terminal/standard-streams.ts";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { exportLines, importLines } from "../../../journal/lines.ts";

/** `portcullis journal export`: prints executions as JSON lines, all by default. */
export async function exportJournal(ids: readonly string[], options: CommandOptions<typeof EXPORT>): Promise<void> {
  await using journal = existingJournal(options.journal);
  const found = await Promise.all(ids.map((id) => findExecution(journal, id)));
  for await (const line of exportLines(journal, found.length > 0 ? found : oldestFirst(journal))) {
    // JSON leaves characters unescaped that control a terminal. With them escaped, the record is the same.
    await writeInTime(`${line}\n`);
  }
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
export async function importJournal(file: string, options: CommandOptions<typeof IMPORT>): Promise<void> {
  const input = file === "-" ? standardStreams().stdin : await openFile(file);
  await using stack = new AsyncDisposableStack();
  // Opened with the first execution that was read whole: invalid lines leave no journal behind.
  let opened: OpenJournal | undefined;
  const open = () => (opened ??= stack.use(namedJournal(options.journal)));
  const journal: Parameters<typeof importLines>[0] = {
    create: (header) => open().create(header),
    append: (...args) => open().append(...args),
  };
  if (journalPathOf(options.journal) === undefined) open();
  let added = 0;
  let skipped = 0;
  const passing = options.skipExisting ? { onExisting: () => (skipped += 1) } : {};
  try {
    for await (const _ of importLines(journal, readLines(input), passing)) added += 1;
  } catch (cause) {
    if (!hasCode(cause, "execution_exists")) throw cause;
    throw new UsageFailure(`${cause.message} To pass over what is there already: --skip-existing.`, { cause });
  }
  const suffix = skipped === 0 ? "" : `, ${executionsText(skipped, "in the journal already")}`;
  if (options.json) printJson({ added, skipped });
  else writeStderr(`${executionsText(added, "added")}${suffix}.\n`);
}

/** `portcullis journal prune`: deletes old executions. */
export async function pruneJournal(options: CommandOptions<typeof PRUNE>): Promise<void> {
  const before = now() - options.olderThan;
  await using journal = existingJournal(options.journal);
  const deleted = await journal.prune({ before, open: options.open === true });
  if (options.json) printJson({ deleted });
  else writeStderr(`${executionsText(deleted, "deleted")}.\n`);
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
