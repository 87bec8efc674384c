import { PortcullisError, thrownMessage } from "../../../base/index.ts";

/** What an error of PostgreSQL, or of the connection to it, means for the statement that had it. */
export type StoreFault =
  /** The connection is gone, and it is not known what became of the statement. */
  | "lost"
  /** The database took nothing of it, and may take it later. */
  | "later"
  /** The database took nothing of it, and will not. */
  | "refused";

/** SQLSTATE codes (https://www.postgresql.org/docs/current/errcodes-appendix.html), or their first two characters. */
const LATER: ReadonlySet<string> = new Set([
  "25006", // read_only_sql_transaction: a standby answers while another server takes over
  "40001", // serialization_failure
  "40P01", // deadlock_detected
  "53300", // too_many_connections
  "55P03", // lock_not_available
  "57014", // query_canceled: the statement took too long
]);
/** The server ends, or ends this connection. */
const LOST: ReadonlySet<string> = new Set("08 57P01 57P02 57P03 57P05 25P03 25P04".split(" "));

/** Text by which `pg` itself, without a code, tells of a connection. */
const OF_CONNECTION = /connection|timeout|not queryable|cannot connect/i;
/** The server has no TLS, or is none of PostgreSQL. That does not pass by itself. */
const OF_TLS = /support SSL|an SSL connection/;

/** A table or a column is missing, or a table is there already. */
const NO_TABLE: ReadonlySet<string> = new Set(["42P01", "42703", "42P07"]);
/** Statements of others may name tables of theirs. */
const OWN_TABLE = /"(?:\w{1,48}\.)?(?:executions|records|texts|uses|journal_format|requests)"/;

const SYSTEM_ERRORS: ReadonlySet<string> = new Set(
  "ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN ENOENT".split(" "),
);

export function faultOf(error: unknown): StoreFault {
  const code = sqlState(error);
  if (code === undefined)
    return error instanceof Error &&
      OF_CONNECTION.test(error.message) &&
      !OF_TLS.test(error.message) &&
      !PortcullisError.is(error)
      ? "lost"
      : "refused";
  // A file that the URL names; of a socket it is the server that is not there.
  if (code === "ENOENT" && (error as NodeJS.ErrnoException).syscall === "open") return "refused";
  if (LATER.has(code)) return "later";
  return LOST.has(code) || LOST.has(code.slice(0, 2)) || SYSTEM_ERRORS.has(code) ? "lost" : "refused";
}

export function sqlState(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || PortcullisError.is(error)) return undefined;
  if (error instanceof AggregateError) return sqlState(error.errors[0]);
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** `where` is the database as errors name it, without its password. */
export function unavailable(where: string, waitedMs: number, cause: unknown): PortcullisError {
  const waited = waitedMs > 0 ? `, for ${waitedMs} ms` : "";
  return new PortcullisError(
    "journal_unavailable",
    `The journal ${where} cannot be used${waited} (${sentenceOf(cause)}). Nothing of this is half done. Check that the database runs and answers, or give it longer with unavailableMs.`,
    { cause },
  );
}

/** For what fails before PostgreSQL is spoken: TLS, a certificate, a file that the URL names. */
export function unreachable(where: string, cause: unknown): PortcullisError {
  return new PortcullisError(
    "journal_unavailable",
    `No connection to the journal ${where} can be made as its URL asks (${sentenceOf(cause)}). Check sslmode and the certificate files of the URL, and that the server offers TLS.`,
    { cause },
  );
}

/** For a statement of others that must not be run twice. */
export function unknownOutcome(where: string, cause: unknown): PortcullisError {
  return new PortcullisError(
    "journal_unavailable",
    `The connection to the journal ${where} was lost while a statement ran (${sentenceOf(cause)}). It is not known whether it took effect.`,
    { cause },
  );
}

/** An error of PostgreSQL as a `PortcullisError` that says what to do; any other error as it is. */
export function storeError(error: unknown, where: string): unknown {
  const code = sqlState(error);
  if (code === undefined) return error;
  const why = sentenceOf(error);
  const tell = (as: "journal_unavailable" | "journal_read_only" | "journal_full" | "journal_corrupt", text: string) =>
    new PortcullisError(as, text, { cause: error });
  if (code.startsWith("28"))
    return tell(
      "journal_unavailable",
      `The database ${where} refuses this user (${why}). Check the user and the password of the URL, or the variable PGPASSWORD.`,
    );
  if (code === "3D000")
    return tell("journal_unavailable", `There is no such database: ${where} (${why}). Create it with: createdb`);
  if (code === "42501")
    return tell(
      "journal_read_only",
      `The journal ${where} may not be used by this user (${why}). Let its owner grant the rights, or give a user that owns the schema.`,
    );
  if (code.startsWith("53"))
    return tell(
      "journal_full",
      `The journal ${where} has no more space (${why}). Nothing of this was written. Free space on the database's disk, or prune old executions.`,
    );
  const isOfTables = NO_TABLE.has(code) && OWN_TABLE.test(why);
  if (isOfTables || code.startsWith("XX00"))
    return tell(
      "journal_corrupt",
      `The journal ${where} is damaged, or its schema has tables that are no part of a journal (${why}). Restore it from a backup, or give another schema.`,
    );
  return error;
}

function sentenceOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return sentenceOf(error.errors[0]);
  return thrownMessage(error);
}
