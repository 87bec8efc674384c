import { createPostgresJournal } from "portcullis/fleet";
import { type Header, type Journal, type JournalRecord } from "portcullis/journal";
import { createSqliteJournal } from "portcullis";
import { join } from "node:path";
import type { PostgresServer } from "../../postgres-support/postgres-server.ts";
import { benchFolder, TURN } from "../row.ts";
import type { Row } from "./fleet-bench.ts";
import { waitingRecords } from "./waiting-records.ts";

/** Executions to which one process appends at once. */
const AT_ONCE = [1, 10, 100] as const;
/** How long appends are counted, in milliseconds. */
const COUNTED_MS = 2000;
const WAITING = 20_000;

/** What a journal in PostgreSQL costs: appends, notices, and executions that wait. */
export async function journalRows(row: Row, server: PostgresServer): Promise<void> {
  const waiting = await waitingRecords();
  const [header] = waiting;
  if (header?.type !== "header") throw new Error("An execution begins with its header.");
  const appends = async (what: string, journal: Journal, prefix: string) => {
    for (const atOnce of AT_ONCE) {
      const ids = Array.from({ length: atOnce }, (_, n) => `${prefix}-${atOnce}-${n}`);
      for (const execution of ids) await journal.create({ ...header, execution });
      row(`appends a second, ${atOnce} at once, ${what}`, await perSecond(journal, ids), "", "");
    }
  };
  {
    await using journal = createPostgresJournal({ url: server.url(), schema: "grouped" });
    await appends("PostgreSQL, commits shared", journal, "g");
  }
  {
    using folder = benchFolder();
    using journal = createSqliteJournal({ path: join(folder.path, "journal.db") });
    await appends("file of SQLite", journal, "s");
  }
  await noticeRow(row, server, header);
  await waitingRow(row, server, waiting);
}

async function perSecond(journal: Journal, ids: readonly string[]): Promise<number> {
  const heads = ids.map(() => 1);
  let appended = 0;
  const run = async (until: number) => {
    appended = 0;
    await Promise.all(
      ids.map(async (execution, index) => {
        while (performance.now() < until) {
          heads[index] = await journal.append(execution, heads[index] ?? 1, [TURN], { safe: true });
          appended += 1;
        }
      }),
    );
  };
  await run(performance.now() + COUNTED_MS / 4);
  const begun = performance.now();
  await run(begun + COUNTED_MS);
  return appended / ((performance.now() - begun) / 1000);
}

/** From an append in one process's journal to the listener of another's. Both are in this process here. */
async function noticeRow(row: Row, server: PostgresServer, header: Header): Promise<void> {
  await using journal = createPostgresJournal({ url: server.url(), schema: "grouped" });
  await using other = createPostgresJournal({ url: server.url(), schema: "grouped" });
  let told = (_head: number | undefined) => {};
  const ready = Promise.withResolvers<void>();
  using listening = other.onAppend?.(({ head }) => (head === undefined ? ready.resolve() : told(head)));
  if (!listening) throw new Error("A journal in PostgreSQL tells of appends.");
  await ready.promise;
  const times: number[] = [];
  const execution = "noticed";
  let head = await journal.create({ ...header, execution });
  for (let n = 0; n < 300; n += 1) {
    const { promise, resolve } = Promise.withResolvers<void>();
    told = (heard) => heard === head + 1 && resolve();
    const begun = performance.now();
    await Promise.all([journal.append(execution, head, [TURN]), promise]);
    times.push(performance.now() - begun);
    head += 1;
  }
  times.sort((a, b) => a - b);
  row("append to a listener of another connection, p50", times[150] ?? Number.NaN, "ms", "");
  row("the same, p99", times[297] ?? Number.NaN, "ms", "");
}

/** Database of executions that wait for an approval, each as a runtime with ten tools leaves it. */
async function waitingRow(row: Row, server: PostgresServer, records: readonly JournalRecord[]): Promise<void> {
  await using journal = createPostgresJournal({ url: server.url(), schema: "waiting" });
  const [header, ...others] = records;
  if (header?.type !== "header") throw new Error("An execution begins with its header.");
  const begun = performance.now();
  for (let from = 0; from < WAITING; from += 500)
    await Promise.all(
      Array.from({ length: 500 }, async (_, n) => {
        const execution = `00000000-0000-4000-8000-${String(from + n).padStart(12, "0")}`;
        const head = await journal.create({ ...header, execution }, { driver: `driver of ${execution}`, until: 1 });
        await journal.append(execution, head, others);
      }),
    );
  const seconds = (performance.now() - begun) / 1000;
  const [size] = await server.sql(
    "SELECT sum(pg_total_relation_size(c.oid))::float8 AS bytes FROM pg_class AS c WHERE relnamespace = 'waiting'::regnamespace AND relkind = 'r'",
  );
  const named = `${WAITING.toLocaleString("en-US")} executions that wait`;
  row(`${named}: database of each, indexes included`, Number(size?.["bytes"]) / WAITING, "B", "≤ 4,096 B");
  row(`${named}: their records as JSON, of each`, Buffer.byteLength(JSON.stringify(records)), "B", "");
  row("executions made and left waiting a second", WAITING / seconds, "", "");
}
