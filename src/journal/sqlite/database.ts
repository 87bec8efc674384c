import { closeSync, lstatSync, openSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { monotonic, PortcullisError } from "../../base/index.ts";
import { otherTables } from "../journal-error.ts";
import { isBusy, storeError } from "./store-error.ts";

/** Version of the tables, kept in `PRAGMA user_version`. Records have a version of their own, `JOURNAL_FORMAT`. */
const TABLES_VERSION = 1;
/** Marks a file as a journal of this package, in `PRAGMA application_id`: "Pcul". */
const APPLICATION_ID = 0x5063756c;
/** How long opening waits for another process that creates the same file, in milliseconds. */
const OPENING_MS = 5000;
/** Longest wait between two attempts to open a file, in milliseconds. */
const RETRY_MS = 20;

/** SQLite's name for a database without a file. */
const IN_MEMORY = ":memory:";
const PAGE_BYTES = 4096;

/** SQLite keeps these statements as they are written here, and each file is compared with them: a space that changes makes other files unreadable. */
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
  CREATE INDEX executions_by_start ON executions (started_at, number, ended, tenant);
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
  PRAGMA user_version = ${TABLES_VERSION};
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
  if (file !== IN_MEMORY) {
    createFile(file);
    refuseForeignFiles(file);
  }
  const deadline = monotonic() + OPENING_MS;
  for (;;) {
    try {
      return openFile(file, synchronous, maxBytes);
    } catch (error) {
      if (!isBusy(error) || monotonic() > deadline) throw PortcullisError.is(error) ? error : storeError(error, file);
      // SQLite does not wait by itself if two processes that create a file would wait for each other.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * RETRY_MS);
    }
  }
}

function openFile(file: string, synchronous: "FULL" | "NORMAL", maxBytes: number): DatabaseSync {
  // Loaded on demand: most programs that import this package open no file.
  const sqlite = process.getBuiltinModule("node:sqlite");
  const database = new sqlite.DatabaseSync(file, { timeout: OPENING_MS });
  try {
    // The file may come from elsewhere: its schema must not call functions, and a damaged page must be found.
    database.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    database.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;");
    prepareTables(database, file);
    refuseForeignSchema(database, file, sqlite);
    // SQLite makes its other files when it first reads, and recovers what another process has left in them.
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA user_version;`);
    database.exec("PRAGMA busy_timeout = 0");
    // Checked again, because SQLite has opened its other files only now.
    if (file !== IN_MEMORY) refuseForeignFiles(file);
    if (Number.isFinite(maxBytes)) database.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / PAGE_BYTES)}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
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
    // SQLite would create the file with the process's default mode. Its other files take this file's mode.
    closeSync(openSync(file, "ax", 0o600));
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === "EEXIST";
    // Another process has created it in the meantime.
    if (isThere && statSync(file, { throwIfNoEntry: false })) return;
    // SQLite would create a file at the place that the link names.
    if (isThere)
      throw new PortcullisError(
        "journal_read_only",
        `The journal ${file} is a link to a file that does not exist. Remove the link, or give another path.`,
      );
    throw new PortcullisError(
      "journal_read_only",
      `The journal ${file} cannot be created: ${(error as Error).message}. Create its folder if there is none, or give another path.`,
      {
        cause: error,
      },
    );
  }
}

const WRITABLE_BY_ALL = 0o002;

/**
 * Throws `journal_read_only` if another user may have put a file in the place of the journal or of a file that SQLite
 * keeps beside it. In a folder that all users may write to, each of these files has to belong to this user.
 */
function refuseForeignFiles(path: string): void {
  const user = process.geteuid?.();
  if (user === undefined) return;
  // SQLite follows links to the journal, and keeps the other files where they lead.
  const file = realpathSync(path);
  if ((statSync(dirname(file)).mode & WRITABLE_BY_ALL) === 0) return;
  for (const one of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) {
    const found = lstatSync(one, { throwIfNoEntry: false });
    if (found && !(found.isFile() && found.uid === user))
      throw new PortcullisError(
        "journal_read_only",
        `The journal ${path} is in a folder that all users of this machine may write to, and ${one} does not belong to this user, who could not keep others from reading or changing it. Give a path in a folder of this user's own.`,
      );
  }
}

/** Throws `journal_corrupt` if the file has other tables than a journal: its views and triggers would run when it is read. */
function refuseForeignSchema(database: DatabaseSync, file: string, sqlite: typeof import("node:sqlite")): void {
  const own = new sqlite.DatabaseSync(IN_MEMORY);
  try {
    own.exec(TABLES);
    if (schemaOf(database) === schemaOf(own)) return;
  } finally {
    own.close();
  }
  throw new PortcullisError(
    "journal_corrupt",
    `${file} has tables, views or triggers that are no part of a journal of portcullis. Restore it from a backup, or give another path.`,
  );
}

/** The statements that made a database's tables, in a fixed order. Tables that `ANALYZE` made are left out. */
function schemaOf(database: DatabaseSync): string {
  const rows = database
    .prepare(
      `SELECT type, name, tbl_name, substr(sql, 1, 10000) AS sql FROM sqlite_schema
       WHERE sql IS NULL OR sql NOT IN (
         'CREATE TABLE sqlite_stat1(tbl,idx,stat)', 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)'
       ) ORDER BY type, name LIMIT 64`,
    )
    .all();
  return JSON.stringify(rows);
}

function prepareTables(database: DatabaseSync, file: string): void {
  const found = versionOf(database);
  if (found.schema === TABLES_VERSION && found.application === APPLICATION_ID) return;
  if (found.tables > 0 && found.application !== APPLICATION_ID)
    throw new PortcullisError(
      "journal_corrupt",
      `${file} is an SQLite database, but not a journal of portcullis. Give another path.`,
    );
  if (found.tables > 0) throw otherTables(file, found.schema, TABLES_VERSION);
  database.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have created the tables while this one waited for the lock.
    if (versionOf(database).tables === 0) database.exec(TABLES);
    database.exec("COMMIT");
  } catch (error) {
    // SQLite itself has ended one whose disk failed.
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** Read by one statement: another process may create the tables meanwhile. */
function versionOf(database: DatabaseSync) {
  const found = database.prepare(
    `SELECT (SELECT user_version FROM pragma_user_version) AS schema, (SELECT count(*) FROM sqlite_schema) AS tables,
       (SELECT application_id FROM pragma_application_id) AS application`,
  );
  return found.get() as { readonly schema: number; readonly application: number; readonly tables: number };
}
