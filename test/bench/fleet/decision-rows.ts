import type { JournalRecord } from "portcullis/journal";
import type { PostgresServer } from "../../postgres-support/postgres-server.ts";
import { Calls, join, makePing, type Row, timeRows } from "./fleet-bench.ts";
import { waitingRecords } from "./waiting-records.ts";

/** Executions that wait meanwhile: WAITING of them. */
const WAITING = Number(process.env["WAITING"] ?? 100_000);
const DECIDED = 100;
const SCHEMA = "decisions";

/** From a decision to the call that it allows, with few and with many executions that wait. */
export async function decisionRows(row: Row, server: PostgresServer): Promise<void> {
  const calls = new Calls();
  const tools = [makePing(calls.onCall, { approval: "always" })];
  await using stack = new AsyncDisposableStack();
  const runtime = await join(stack, server.url(), SCHEMA, { tools, approve: () => "later" });
  stack.use(await runtime.fleet!.work(runtime, { concurrency: 8 }));
  const decided = async () => {
    const times: number[] = [];
    for (let n = 0; n < DECIDED; n += 1) {
      const execution = await runtime.fleet!.submit(runtime, "return await tools.ping({});");
      await runtime.execution(execution).wait();
      const next = calls.next(execution);
      const since = performance.now();
      await Promise.all([runtime.execution(execution).decide({ "1": { allow: true } }), next]);
      times.push(performance.now() - since);
      await runtime.execution(execution).wait();
    }
    return times;
  };
  timeRows(row, "decision to the call that it allows, none waits beside it", await decided(), ["", ""]);
  await insertWaiting(server, await waitingRecords(), WAITING);
  const what = `the same with ${WAITING.toLocaleString("en-US")} executions that wait`;
  timeRows(row, what, await decided(), ["", "≤ 100 ms"]);
}

/** Writes the rows of executions that wait: by themselves they would take hours. */
async function insertWaiting(server: PostgresServer, records: readonly JournalRecord[], count: number): Promise<void> {
  const texts = records.map((record) => JSON.stringify(record));
  await server.sql(
    `WITH made AS (
       INSERT INTO ${SCHEMA}.executions (started_at, leased_until, head, ended, kind, id, tenant, driver, rests_until)
       SELECT 1, 0, $1, false, 'program', 'waiting-' || n, 'tenant-' || n % 100, 'driver', ${Number.MAX_SAFE_INTEGER}
       FROM generate_series(1, $2::int) AS n RETURNING number
     )
     INSERT INTO ${SCHEMA}.records (execution, position, record)
     SELECT number, index - 1, record FROM made, unnest($3::text[]) WITH ORDINALITY AS r (record, index)`,
    [texts.length, count, texts],
  );
  await server.sql(`ANALYZE ${SCHEMA}.executions, ${SCHEMA}.records`);
}
