import type { ExecutionSummary, Head, ListOptions } from "../../journal/journal.ts";
import {
  type FoundExecution,
  journalDamaged,
  listedOf,
  MAX_NAME_BYTES,
  MAX_RECORD_BYTES,
  MAX_STORED_BYTES,
  PAGE,
  type PageRow,
  type RowReader,
  type StoredText,
  summaryOf,
} from "../../journal/packing/index.ts";
import type { Database, DatabaseRow } from "./connection/database.ts";
import { quotedName } from "./tables/tables.ts";
import { NOW, ownTime } from "./tables/lease-times.ts";
import { readName, storedName } from "./tables/names.ts";
import { needsOf } from "./tables/needs-text.ts";

const LIST_PAGE = 256;
/** What a position is below. */
const MAX_HEAD = 2 ** 31 - 1;
/** Bytes of a stored text that are read at a time. They come as hexadecimal digits. */
const CHUNK_BYTES = 4 * 1024 * 1024;

const name = (column: string) =>
  `CASE WHEN octet_length(${column}) <= ${MAX_NAME_BYTES} THEN ${column} END AS ${column}`;
/** A driver's name that is too long is read as a number: NULL means that there is no driver. */
const COLUMNS = `number, ${name("id")}, ${name("kind")}, ${name("tenant")}, started_at, head, ended,
  ${name("driver")}, coalesce(octet_length(driver) > ${MAX_NAME_BYTES}, false) AS has_long_driver, leased_until, needs, ${NOW} AS read_at`;

export class StoredRows implements RowReader<string> {
  readonly #database: Database;
  readonly #schema: string;

  constructor(database: Database) {
    this.#database = database;
    this.#schema = quotedName(database.schema);
  }

  async find(execution: string): Promise<FoundExecution<string> | undefined> {
    const [row] = await this.#rows("find", `SELECT ${COLUMNS} FROM ${this.#schema}.executions WHERE id = $1`, [
      storedName(execution),
    ]);
    return row && foundExecution(row);
  }

  async list(
    { open, tenant, before, onDamaged }: ListOptions,
    after: DatabaseRow | undefined,
  ): Promise<{ readonly row: DatabaseRow; readonly summary: ExecutionSummary | undefined }[]> {
    const values: unknown[] = [];
    const conditions: string[] = [];
    const where = (condition: string, ...args: unknown[]) => {
      conditions.push(condition.replaceAll("?", () => `$${values.push(args.shift())}`));
    };
    if (after) where("(started_at, number) < (?, ?)", after["started_at"], after["number"]);
    if (tenant !== undefined) where("tenant = ?", storedName(tenant));
    if (before !== undefined) where("started_at < ?", before);
    if (open !== undefined) conditions.push(open ? "NOT ended" : "ended");
    const which = conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
    const text = `SELECT ${COLUMNS} FROM ${this.#schema}.executions ${which} ORDER BY started_at DESC, number DESC LIMIT ${LIST_PAGE}`;
    const rows = await this.#rows(undefined, text, values);
    return rows.map((row) => ({ row, summary: listedOf(() => foundExecution(row).summary, onDamaged) }));
  }

  async open(
    execution: string,
    from: Head,
    count: number,
  ): Promise<{ readonly found: FoundExecution<string>; readonly page: readonly PageRow[] } | undefined> {
    const rows = await this.#rows(
      "open",
      `SELECT e.*, r.* FROM (SELECT ${COLUMNS} FROM ${this.#schema}.executions WHERE id = $1) AS e
       LEFT JOIN LATERAL (${this.#page("e.number", "least(e.head, $3)")}) AS r ON true ORDER BY r.position`,
      [storedName(execution), Math.min(from, MAX_HEAD), Math.min(from + count, from + PAGE.records, MAX_HEAD)],
    );
    const [first] = rows;
    return (
      first && { found: foundExecution(first), page: rows.filter(({ position }) => position !== null).map(pageRow) }
    );
  }

  async page(number: string, from: Head, end: Head): Promise<PageRow[]> {
    const rows = await this.#rows("page", this.#page("$1", "$3"), [number, from, Math.min(end, from + PAGE.records)]);
    return rows.map(pageRow);
  }

  /** `$2` is the position of the first record. */
  #page(number: string, end: string): string {
    return `SELECT position, bytes, CASE WHEN sum <= ${PAGE.bytes} THEN record END AS record FROM (
         SELECT position, record, octet_length(record) AS bytes, sum(octet_length(record)) OVER (ORDER BY position) AS sum
         FROM ${this.#schema}.records WHERE execution = ${number} AND position >= $2 AND position < ${end}
         ORDER BY position LIMIT ${PAGE.records}
       ) AS page WHERE sum - bytes <= ${PAGE.bytes} ORDER BY position`;
  }

  async record(number: string, position: Head): Promise<string | undefined> {
    const [row] = await this.#rows(
      "record",
      `SELECT CASE WHEN octet_length(record) <= ${MAX_RECORD_BYTES} THEN record END AS record
       FROM ${this.#schema}.records WHERE execution = $1 AND position = $2`,
      [number, position],
    );
    return typeof row?.["record"] === "string" ? row["record"] : undefined;
  }

  async sizesOf(tenant: string, hashes: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#rows(
      "sizes",
      `SELECT encode(sha256, 'hex') AS sha256, bytes FROM ${this.#schema}.texts
       WHERE tenant = $1 AND sha256 IN (SELECT decode(h, 'hex') FROM unnest($2::text[]) AS h)`,
      [storedName(tenant), hashes],
    );
    return new Map(rows.map(({ sha256, bytes }) => [String(sha256), Number(bytes)]));
  }

  async text(tenant: string, sha256: Buffer): Promise<StoredText | undefined> {
    const parts: Buffer[] = [];
    for (let from = 0; ; from += CHUNK_BYTES) {
      const [row] = await this.#rows(
        "text",
        `SELECT bytes, octet_length(data) AS length, substring(data FROM $3::int FOR ${CHUNK_BYTES}) AS part
         FROM ${this.#schema}.texts WHERE tenant = $1 AND sha256 = $2`,
        [storedName(tenant), sha256, from + 1],
      );
      if (!row) return undefined;
      const [bytes, length] = [Number(row["bytes"]), Number(row["length"])];
      if (length > MAX_STORED_BYTES) return { sha256, bytes, data: null };
      parts.push(row["part"] as Buffer);
      if (from + CHUNK_BYTES >= length) return { sha256, bytes, data: Buffer.concat(parts) };
    }
  }

  async #rows(statement: string | undefined, text: string, values: unknown[]): Promise<DatabaseRow[]> {
    const name = statement && `portcullis ${statement}`;
    return (await this.#database.query({ name, text, values })).rows;
  }
}

function foundExecution(row: DatabaseRow): FoundExecution<string> {
  const { number, id, tenant, driver, has_long_driver, started_at, leased_until, read_at, ended } = row;
  const summary = summaryOf({
    ...row,
    number: Number(number),
    id: named(id),
    tenant: named(tenant),
    driver: has_long_driver === true ? 0 : named(driver),
    started_at: Number(started_at),
    leased_until: leased_until === null ? null : ownTime(Number(leased_until), Number(read_at)),
    ended: ended === true ? 1 : 0,
  });
  return { number: String(number), summary: { ...summary, needs: needsOf(row["needs"]) } };
}

function named(stored: unknown): unknown {
  return typeof stored === "string" ? readName(stored) : stored;
}

function pageRow({ position, bytes, record }: DatabaseRow): PageRow {
  if (typeof position !== "number" || typeof bytes !== "number")
    throw journalDamaged("a record has a place that no record has");
  return { position, bytes, record: typeof record === "string" ? record : undefined };
}
