import { countText, now, PortcullisError } from "../../../base/index.ts";
import { readLines, readList } from "../../../journal/reading/index.ts";
import { createReadStream } from "node:fs";
import type { Journal } from "../../../journal/journal.ts";
import { exportLines, importLines } from "../../../journal/lines.ts";
import type { CommandOptions, CHECK, EXPORT, IMPORT, PRUNE } from "../../command-options.ts";
import { EXIT, UsageFailure } from "../../failure.ts";
import { findExecution, existingJournal, namedJournal } from "../../input/open-journal.ts";
import { requireFile } from "../../input/option-values.ts";
import {
  oneLine,
  printJson,
  standardStreams,
  writeInTime,
  writeStderr,
  writeStdout,
} from "../../terminal/standard-streams.ts";

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

/** `portcullis journal import`: reads JSON lines from a file or standard input, and tells how many executions were added. */
export async function importJournal(file: string, options: CommandOptions<typeof IMPORT>): Promise<number> {
  if (file !== "-") requireFile("journal import", file);
  const input: AsyncIterable<Uint8Array> = file === "-" ? standardStreams().stdin : createReadStream(file);
  await using journal = namedJournal(options.journal);
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
