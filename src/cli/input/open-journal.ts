import { existsSync } from "node:fs";
import { createSqliteJournal, type SqliteJournal } from "../../journal/sqlite/sqlite-journal.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { similarFile } from "./no-file.ts";

/** Where the journal is if the option `--journal` is not given. */
const VARIABLE = "PORTCULLIS_JOURNAL";

/** The file of the journal of `--journal`, or of the environment; undefined if neither names one. */
export function journalPathOf(path = process.env[VARIABLE]): string | undefined {
  return path === "" ? undefined : path;
}

/** The journal of `--journal` or of the environment; undefined if neither names one. */
export function optionalJournal(given?: string): SqliteJournal | undefined {
  const path = journalPathOf(given);
  return path === undefined ? undefined : createSqliteJournal({ path });
}

/** Refuses an id of an execution without a journal: nothing would know the execution again. */
export function checkExecution(execution: string | undefined, journal: string | undefined): void {
  if (execution !== undefined && journalPathOf(journal) === undefined)
    throw new Failure(
      EXIT.usage,
      "--execution needs a journal, which knows the execution again under its id: add --journal FILE.",
    );
}

/** Refuses to take a conversation up without a journal that has it. */
export function checkConversation(conversation: string | undefined, journal: string | undefined): void {
  if (conversation !== undefined && journalPathOf(journal) === undefined)
    throw new Failure(EXIT.usage, "--conversation needs the journal that has the conversation: add --journal FILE.");
}

/** The journal that a command writes; its file is created if it does not exist. Throws if none is named. */
export function namedJournal(path?: string): SqliteJournal {
  const journal = optionalJournal(path);
  if (journal) return journal;
  throw new Failure(EXIT.usage, `No journal is named. Give its file with --journal, or in ${VARIABLE}.`);
}

/** The journal that a command reads. Throws if none is named, or if its file does not exist: reading creates none. */
export function existingJournal(given?: string): SqliteJournal {
  const path = journalPathOf(given);
  if (path !== undefined && !existsSync(path))
    throw new Failure(
      EXIT.usage,
      `There is no journal ${path}.${similarFile(path)} A run with --journal ${path} creates it.`,
    );
  return namedJournal(path);
}
