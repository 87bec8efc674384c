import { existsSync } from "node:fs";
import { createSqliteJournal, type SqliteJournal } from "../../journal/sqlite/sqlite-journal.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

/** Where the journal is if the option `--journal` is not given. */
const VARIABLE = "PORTCULLIS_JOURNAL";

/** The journal of `--journal` or of the environment; undefined if neither names one. */
export function optionalJournal(path = process.env[VARIABLE]): SqliteJournal | undefined {
  return path === undefined || path === "" ? undefined : createSqliteJournal({ path });
}

/** The journal that a command writes; its file is created if it does not exist. Throws if none is named. */
export function namedJournal(path?: string): SqliteJournal {
  const journal = optionalJournal(path);
  if (journal) return journal;
  throw new Failure(EXIT.usage, `No journal is named. Give its file with --journal, or in ${VARIABLE}.`);
}

/** The journal that a command reads. Throws if none is named, or if its file does not exist: reading creates none. */
export function existingJournal(path = process.env[VARIABLE]): SqliteJournal {
  if (path !== undefined && path !== "" && !existsSync(path))
    throw new Failure(EXIT.usage, `There is no journal ${path}. A run with --journal ${path} creates it.`);
  return namedJournal(path);
}
