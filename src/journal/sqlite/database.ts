import { closeSync, openSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { PortcullisError } from "../../errors.ts";
import { storeError } from "./store-error.ts";

/** Version of the tables, kept in `PRAGMA user_version`. Records have a version of their own, `JOURNAL_FORMAT`. */
const SCHEMA_VERSION = 1;
/** Marks a file as a journal of this package, in `PRAGMA application_id`: "Pcul". */
const APPLICATION_ID = 0x5063756c;
/** How long opening waits for another process that creates the same file, in milliseconds. */
const OPENING_MS = 5000;

/** SQLite's name for a database without a file. */
const IN_MEMORY = ":memory:";
const PAGE_BYTES = 4096;

const TABLES = `
  PRAGMA auto_vacuum = INCREMENTAL;
  CREATE TABLE executions (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    tenant TEXT NOT NULL,
    parent TEXT,
    started_at INTEGER NOT NULL,
    head INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    driver TEXT,
    leased_until INTEGER
  ) STRICT;
  CREATE INDEX executions_by_state ON executions (ended, number);
  CREATE TABLE records (
    execution INTEGER NOT NULL,
    position INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (execution, position)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE texts (
    sha256 BLOB PRIMARY KEY,
    bytes INTEGER NOT NULL,
    data BLOB NOT NULL
  ) STRICT;
  CREATE TABLE uses (
    execution INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    PRIMARY KEY (execution, sha256)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX uses_of_text ON uses (sha256);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * Opens the file of a journal, and creates it with mode 0600 if it does not exist. Throws `journal_version`,
 * `journal_corrupt`, `journal_read_only` or `journal_locked`, and leaves a file that it cannot use as it is.
 */
export function openDatabase(
  path: string,
  { synchronous, maxBytes }: { readonly synchronous: "FULL" | "NORMAL"; readonly maxBytes: number },
): DatabaseSync {
  const file = path === IN_MEMORY ? path : resolve(path);
  if (file !== IN_MEMORY) createFile(file);
  // Loaded on demand: most programs that import this package open no file.
  const sqlite = process.getBuiltinModule("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    database = new sqlite.DatabaseSync(file, { timeout: OPENING_MS });
    // The file may come from elsewhere: its schema must not call functions, and a damaged page must be found.
    database.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    database.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;");
    prepareTables(database, file);
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA busy_timeout = 0;`);
    if (Number.isFinite(maxBytes)) database.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / PAGE_BYTES)}`);
    return database;
  } catch (error) {
    database?.close();
    throw PortcullisError.is(error) ? error : storeError(error, file);
  }
}

function createFile(file: string): void {
  try {
    if (statSync(file).isDirectory())
      throw new PortcullisError(
        "option_invalid",
        `createSqliteJournal({ path }): ${file} is a folder. Give the path of a file, like ${file}/portcullis.db.`,
      );
    return;
  } catch (error) {
    if (PortcullisError.is(error)) throw error;
  }
  try {
    // SQLite would create it with the process's default mode. Its other files take the mode of this one.
    closeSync(openSync(file, "ax", 0o600));
  } catch (error) {
    // Another process has created it in the meantime.
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    throw new PortcullisError(
      "journal_read_only",
      `The journal ${file} cannot be created: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

function prepareTables(database: DatabaseSync, file: string): void {
  const found = versionOf(database);
  if (found.schema === SCHEMA_VERSION && found.application === APPLICATION_ID) return;
  if (found.tables > 0 && found.application !== APPLICATION_ID)
    throw new PortcullisError(
      "journal_corrupt",
      `${file} is an SQLite database, but not a journal of portcullis. Give another path.`,
    );
  if (found.tables > 0)
    throw new PortcullisError(
      "journal_version",
      `The journal ${file} has version ${found.schema} of its tables, and this version of portcullis reads version ${SCHEMA_VERSION}. Open it with the version that wrote it, or export it there with: portcullis journal export`,
    );
  database.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have created the tables while this one waited for the lock.
    if (versionOf(database).tables === 0) database.exec(TABLES);
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

function versionOf(database: DatabaseSync): { schema: number; application: number; tables: number } {
  const value = (sql: string): number => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
  return {
    schema: value("PRAGMA user_version"),
    application: value("PRAGMA application_id"),
    tables: value("SELECT count(*) FROM sqlite_schema"),
  };
}
