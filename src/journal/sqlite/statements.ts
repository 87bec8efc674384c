import type { DatabaseSync, StatementSync } from "node:sqlite";
import { MAX_NAME_BYTES, MAX_RECORD_BYTES, MAX_STORED_BYTES } from "../packing/execution-row.ts";
import { PAGE } from "../packing/stored-records.ts";

const LIST_PAGE = 256;

const name = (column: string) => `iif(octet_length(${column}) <= ${MAX_NAME_BYTES}, ${column}, NULL) AS ${column}`;
/** A driver's name that is too long is read as 0: NULL means that there is no driver. */
/** What is no amount is read as one that no execution has: a number that JavaScript does not have would end the reading. */
const amount = (column: string) =>
  `iif(${column} IS NULL OR (typeof(${column}) = 'integer' AND ${column} BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}), ${column}, -1) AS ${column}`;
const EXECUTION_COLUMNS = `number, ${name("id")}, ${name("kind")}, ${name("tenant")}, ${["started_at", "head", "ended", "leased_until"].map(amount).join(", ")},
  iif(driver IS NULL OR octet_length(driver) <= ${MAX_NAME_BYTES}, driver, 0) AS driver`;
export type Statements = ReturnType<typeof prepareStatements>;

export function prepareStatements(database: DatabaseSync) {
  const prepare = (sql: string): StatementSync => database.prepare(sql);
  return {
    findExecution: prepare(`SELECT ${EXECUTION_COLUMNS} FROM executions WHERE id = ?`),
    insertExecution: prepare(
      `INSERT INTO executions (id, kind, tenant, parent, started_at, head, ended, driver, leased_until) VALUES (?, ?, ?, ?, ?, 1, 0, ?, ?)
       ON CONFLICT DO NOTHING RETURNING number, head`,
    ),
    changeExecution: prepare(
      `UPDATE executions SET head = head + :more, ended = max(ended, :ends), driver = coalesce(:driver, driver),
         leased_until = iif(:driver IS NULL, leased_until, :until)
       WHERE id = :execution AND iif(:expected < 0, driver = :driver, head = :expected) RETURNING number, head`,
    ),
    insertRecord: prepare("INSERT INTO records (execution, position, record) VALUES (?, ?, ?)"),
    readPage: prepare(
      `SELECT position, octet_length(record) AS bytes, iif(octet_length(record) <= ${PAGE.bytes}, record, NULL) AS record
       FROM records WHERE execution = ? AND position >= ? AND position < ? ORDER BY position`,
    ),
    readRecord: prepare(
      `SELECT iif(octet_length(record) <= ${MAX_RECORD_BYTES}, record, NULL) AS record
       FROM records WHERE execution = ? AND position = ?`,
    ),
    insertText: prepare("INSERT OR IGNORE INTO texts (sha256, bytes, data) VALUES (?, ?, ?)"),
    insertUse: prepare("INSERT OR IGNORE INTO uses (execution, sha256) VALUES (?, ?)"),
    findSize: prepare("SELECT bytes FROM texts WHERE sha256 = ?"),
    findText: prepare(
      `SELECT sha256, bytes, iif(octet_length(data) <= ${MAX_STORED_BYTES}, data, NULL) AS data
       FROM texts WHERE sha256 = ?`,
    ),
    listExecutions: prepare(
      `SELECT ${EXECUTION_COLUMNS}, CAST(started_at AS TEXT) AS at FROM executions
       WHERE (started_at, number) < (:at, :below) AND number < ${Number.MAX_SAFE_INTEGER}
       AND (:ended IS NULL OR ended = :ended) AND (:tenant IS NULL OR tenant = :tenant)
       ORDER BY executions.started_at DESC, number DESC LIMIT ${LIST_PAGE}`,
    ),
    findOld: prepare(
      `SELECT number FROM executions AS one WHERE started_at < :before
       AND (ended = 1 OR (:open = 1 AND coalesce(leased_until, 0) < :now))
       AND NOT EXISTS (SELECT 1 FROM executions AS above WHERE above.id = one.parent AND above.ended = 0
         AND (:open = 0 OR above.started_at >= :before OR coalesce(above.leased_until, 0) >= :now))
       LIMIT ${LIST_PAGE}`,
    ),
    deleteExecution: ["records WHERE execution", "uses WHERE execution", "executions WHERE number"].map((rows) =>
      prepare(`DELETE FROM ${rows} = ?`),
    ),
    deleteUnused: prepare("DELETE FROM texts WHERE sha256 NOT IN (SELECT sha256 FROM uses)"),
  };
}
