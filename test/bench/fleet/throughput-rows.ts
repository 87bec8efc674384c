import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join as joinPath } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createRuntime, createSqliteJournal } from "portcullis";
import type { PostgresServer } from "../../postgres-support/postgres-server.ts";
import { treeProcessor } from "../measure.js";
import { benchFolder } from "../row.ts";
import { Calls, FIVE_CALLS, join, makePing, type Row, timeRows } from "./fleet-bench.ts";

/** Executions that are counted, and how many there are at once. */
const [COUNTED, AT_ONCE] = [400, 16];
/** Executions whose first call is timed. */
const TIMED = 200;

/** How an execution is run to its end, under this id. */
type Run = (execution: string) => Promise<unknown>;

/**
 * What a fleet costs beside one host without a fleet, at full and at half load. The process that submits is the worker too, and
 * the database shares this machine.
 */
export async function throughputRows(row: Row, server: PostgresServer): Promise<void> {
  const calls = new Calls();
  const tools = [makePing(calls.onCall)];
  {
    using folder = benchFolder();
    using journal = createSqliteJournal({ path: joinPath(folder.path, "journal.db") });
    await using runtime = await createRuntime({ tools, journal });
    const run: Run = (execution) => runtime.execute(FIVE_CALLS, { id: execution });
    const rate = await rateRows(row, "one host, journal in a file", server, run, "");
    timeRows(row, "start to the first call at half of that rate", await firstCalls(calls, run, rate / 2), ["", ""]);
  }
  await using stack = new AsyncDisposableStack();
  const submitter = await join(stack, server.url(), "throughput", { tools });
  const worker = await join(stack, server.url(), "throughput", { tools });
  stack.use(await worker.fleet!.work(worker, { concurrency: AT_ONCE }));
  const run: Run = async (execution) =>
    submitter.execution(await submitter.fleet!.submit(submitter, FIVE_CALLS, { id: execution })).wait();
  const rate = await rateRows(row, "submitted to a worker of a fleet", server, run, "350");
  const half = await firstCalls(calls, run, rate / 2);
  timeRows(row, "submit to the first call at half of that rate", half, ["≤ 10 ms", "≤ 50 ms"]);
  timeRows(row, "the same, one after the other", await firstCalls(calls, run), ["≤ 10 ms", "≤ 50 ms"]);
}

/** Executions a second, and the processor time of one. Returns the first. */
async function rateRows(row: Row, what: string, server: PostgresServer, run: Run, aim: string): Promise<number> {
  const times = async (count: number) => {
    let left = count;
    const one = async () => {
      for (; left > 0; left -= 1) await run(randomUUID());
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  };
  await times(COUNTED / 4);
  const [before, committed] = [processorMs(server), await commits(server)];
  const since = performance.now();
  await times(COUNTED);
  const rate = COUNTED / ((performance.now() - since) / 1000);
  const after = processorMs(server);
  row(`executions a second with five calls each, ${what}`, rate, "", aim);
  row("processor time of one: host and engines", (after.own - before.own) / COUNTED, "ms", "");
  row("processor time of one: PostgreSQL", (after.database - before.database) / COUNTED, "ms", "");
  row("transactions of one, those that only read among them", ((await commits(server)) - committed) / COUNTED, "", "");
  return rate;
}

/** Transactions of the database so far. Its connections tell of theirs at most once a second. */
async function commits(server: PostgresServer): Promise<number> {
  const [found] = await server.sql("SELECT sum(xact_commit)::float8 AS commits FROM pg_stat_database");
  return Number(found?.["commits"]);
}

/** Processor time so far of the database, and of this process with its engines. */
function processorMs(server: PostgresServer): { readonly own: number; readonly database: number } {
  const [pid] = readFileSync(joinPath(server.folder, "data", "postmaster.pid"), "utf8").split("\n");
  const database = treeProcessor(Number(pid));
  return { own: treeProcessor() - database, database };
}

/** How long executions take to their first call: so many of them are begun each second, or each once the one before has ended. */
async function firstCalls(calls: Calls, run: Run, perSecond?: number): Promise<readonly number[]> {
  const times: number[] = [];
  const one = async () => {
    const execution = randomUUID();
    const since = performance.now();
    const first = calls.next(execution).then(() => times.push(performance.now() - since));
    await Promise.all([run(execution), first]);
  };
  const begun = performance.now();
  const running: Promise<void>[] = [];
  for (let n = 0; n < TIMED; n += 1) {
    if (perSecond === undefined) await one();
    else {
      await delay(Math.max(0, begun + (n * 1000) / perSecond - performance.now()));
      running.push(one());
    }
  }
  await Promise.all(running);
  return times;
}
