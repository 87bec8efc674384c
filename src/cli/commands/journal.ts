import { exportLines, importLines } from "../../journal/lines.ts";
import { readLines } from "../../journal/read-lines.ts";
import type { SqliteJournal } from "../../journal/sqlite/sqlite-journal.ts";
import { optionError } from "../../errors.ts";
import { cleanText } from "../../output/clean-text.ts";
import { EXIT } from "../exit-code.ts";
import { findExecution } from "../input/find-execution.ts";
import { existingJournal, namedJournal } from "../input/open-journal.ts";
import { oneLine } from "../terminal/one-line.ts";
import { writeInTime, writeStdout } from "../terminal/standard-streams.ts";

interface JournalOptions {
  readonly journal?: string;
}

/** `portcullis journal export`: prints executions as JSON lines, all by default. */
export async function exportJournal(ids: readonly string[], options: JournalOptions): Promise<number> {
  using journal = existingJournal(options.journal);
  const found = await Promise.all(ids.map((id) => findExecution(journal, id)));
  for await (const line of exportLines(journal, found.length > 0 ? found : oldestFirst(journal)))
    // JSON leaves characters unescaped that control a terminal. Escaped, the record is the same.
    await writeInTime(`${cleanText(line)}\n`);
  return EXIT.completed;
}

/** `portcullis journal import`: reads JSON lines from standard input, and prints how many executions were added. */
export async function importJournal(options: JournalOptions): Promise<number> {
  using journal = namedJournal(options.journal);
  let added = 0;
  for await (const _ of importLines(journal, readLines(process.stdin))) added += 1;
  process.stderr.write(`${added} ${added === 1 ? "execution was" : "executions were"} added.\n`);
  return EXIT.completed;
}

/** `portcullis journal prune`: deletes old executions. */
export async function pruneJournal(
  options: JournalOptions & { readonly olderThan: string; readonly open?: boolean },
): Promise<number> {
  const before = Date.now() - parseAge(options.olderThan);
  using journal = existingJournal(options.journal);
  const deleted = await journal.prune({ before, open: options.open === true });
  process.stderr.write(`${deleted} ${deleted === 1 ? "execution was" : "executions were"} deleted.\n`);
  return EXIT.completed;
}

/** `portcullis journal check`: reads everything. Exit code 1 if something is damaged. */
export async function checkJournal(options: JournalOptions): Promise<number> {
  using journal = existingJournal(options.journal);
  let problems = 0;
  for await (const { execution, problem } of journal.check()) {
    problems += 1;
    writeStdout(`${oneLine(execution === undefined ? problem : `${execution}: ${problem}`)}\n`);
  }
  process.stderr.write(problems === 0 ? "The journal is whole.\n" : `${problems} problems.\n`);
  return problems === 0 ? EXIT.completed : EXIT.failed;
}

async function* oldestFirst(journal: SqliteJournal): AsyncGenerator<string> {
  const ids: string[] = [];
  for await (const { execution } of journal.list()) ids.push(execution);
  yield* ids.toReversed();
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a text like `30d`, `12h` or `5m`. */
function parseAge(text: string): number {
  const [, number = "", unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const ms = UNITS[unit];
  if (ms === undefined) throw optionError("--older-than", "an age like 30d, 12h or 5m", text);
  return Number(number) * ms;
}
