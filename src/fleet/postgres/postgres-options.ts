import { option, type OptionsOf, required, secret, wholeNumber, withDefault } from "../../base/index.ts";

import { isPostgresUrl } from "./connection/address.ts";

/** What pg-boss allows with the ending of the queue's schema, and what needs no quotes in a terminal. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,43}$/;

export const POSTGRES_JOURNAL_RULES = {
  /**
   * URL of the database: `postgres://user@host:5432/database`. A password may be in it, or in the variable `PGPASSWORD`;
   * `sslmode=verify-full` and `sslrootcert=FILE` in its query ask for TLS. No error shows it.
   */
  url: secret(
    required(
      option<string>(
        'postgres://user@host:5432/database with one host, a port of at most 65535, an IPv6 address in [ ], an sslmode of PostgreSQL, and "/", "?" and "#" of its password written as %2F, %3F and %23',
        (value) => typeof value === "string" && isPostgresUrl(value),
      ),
    ),
  ),
  /** Schema that has the journal's tables; it is made at the first use. `"portcullis"` by default. */
  schema: withDefault(
    option<string>(
      "a name of 1 to 44 characters of a-z, 0-9 and _ that begins with a letter",
      (value) => typeof value === "string" && SCHEMA.test(value),
    ),
    "portcullis",
  ),
  /** Connections of the pool, at most; 8 by default. One more is opened while something listens for appends. */
  connections: wholeNumber({ min: 1, max: 1000, default: 8 }),
  /**
   * How long to wait for a database that cannot be reached, restarts or fails over, in milliseconds; 30 seconds by
   * default. Then what was asked for rejects with `journal_unavailable`.
   */
  unavailableMs: wholeNumber({ min: 0, max: 2 ** 31 - 1, default: 30_000 }),
  /**
   * How long one statement may take, in milliseconds; 15 seconds by default. It waits for a lock for a second at most, and
   * is then run again, up to `unavailableMs`.
   */
  statementMs: wholeNumber({ min: 10, max: 2 ** 31 - 1, default: 15_000 }),
};

export type PostgresJournalOptions = OptionsOf<typeof POSTGRES_JOURNAL_RULES>;
