import { existsSync } from "node:fs";
import { POSTGRES_URL } from "../../fleet/postgres/connection/address.ts";
import { createPostgresJournal, type PostgresJournal } from "../../fleet/postgres/postgres-journal.ts";
import { createSqliteJournal, type SqliteJournal } from "../../journal/sqlite/sqlite-journal.ts";
import { optionError } from "../../base/index.ts";
import { UsageFailure } from "../failure.ts";

/** Where the journal is if the option `--journal` is not given. */
const VARIABLE = "PORTCULLIS_JOURNAL";

/** How long a command waits for a database that it only reads, in milliseconds: a person waits for the answer. */
const READING_MS = 5000;

/** The journal of a command. */
export type OpenJournal = SqliteJournal | PostgresJournal;

/** The file of the journal, or the URL of its database, of `--journal`, or of the environment; undefined if neither names one. */
export function journalPathOf(path = process.env[VARIABLE]): string | undefined {
  // A file has no such name: what stands before `://` is all that is told, because the rest may have a password.
  const scheme = /^(?!postgres(?:ql)?:)[a-z][a-z\d+.-]{0,30}(?=:\/\/)/i.exec(path ?? "");
  if (scheme) throw optionError("--journal", "a file, or postgres://user@host/database", `${scheme[0]}://…`);
  return path === "" ? undefined : path;
}

/** The journal of `--journal` or of the environment; undefined if neither names one. */
export function optionalJournal(named?: string, unavailableMs?: number): OpenJournal | undefined {
  const path = journalPathOf(named);
  if (path === undefined) return undefined;
  if (POSTGRES_URL.test(path)) return createPostgresJournal({ url: path, unavailableMs });
  return createSqliteJournal({ path });
}

/** The journal of `--journal` or of the environment, if it is in a database. */
export function databaseJournal(named?: string): PostgresJournal | undefined {
  const path = journalPathOf(named);
  return path !== undefined && POSTGRES_URL.test(path) ? createPostgresJournal({ url: path }) : undefined;
}

/** The URL of the journal of a fleet. Throws if none is named, or a file: other machines do not reach it. `what` needs it. */
export function fleetJournalOf(named: string | undefined, what: string): string {
  const url = journalPathOf(named);
  if (url !== undefined && POSTGRES_URL.test(url)) return url;
  throw new UsageFailure(
    `${what} needs the journal of its fleet, in PostgreSQL: --journal postgres://user@host/database, or ${VARIABLE}.`,
  );
}

/** Refuses an option that names an execution without a journal, which alone knows it by its id. */
export function needsJournal(option: string, id: string | undefined, journal: string | undefined): void {
  if (id !== undefined && journalPathOf(journal) === undefined)
    throw new UsageFailure(`${option} needs the journal that knows its id: add --journal FILE.`);
}

/** The journal that a command writes; its file is created if it does not exist. Throws if none is named. */
export function namedJournal(path?: string, unavailableMs?: number): OpenJournal {
  const journal = optionalJournal(path, unavailableMs);
  if (journal) return journal;
  throw new UsageFailure(
    `No journal is named. Give its file, or the URL of its database, with --journal, or in ${VARIABLE}.`,
  );
}

/** The journal that a command reads. Throws if none is named, or if its file does not exist: reading creates none. */
export function existingJournal(named?: string): OpenJournal {
  const path = journalPathOf(named);
  if (path !== undefined && !POSTGRES_URL.test(path) && !existsSync(path))
    throw new UsageFailure(`There is no journal ${path}. A run with --journal ${path} creates it.`);
  return namedJournal(path, READING_MS);
}
