import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { createRuntime, createSqliteJournal, defineTool, type Runtime } from "portcullis";
import { createFleet } from "portcullis/fleet";
import { createPostgresJournal } from "portcullis/journal";
import type { PostgresServer } from "../postgres-support/postgres-server.ts";

type Row = (what: string, value: number, unit: string, aim: string) => void;

/** Executions that are counted, and how many there are at once. */
const [COUNTED, AT_ONCE] = [400, 16];
/** Executions whose first call is timed, one after the other. */
const TIMED = 200;

let called = (_id: string): void => {};
const ping = defineTool({
  name: "ping",
  description: "Pings",
  input: z.looseObject({}),
  allowedCallers: ["programmatic"],
  effect: "read",
  handler: (_, { execution }) => {
    called(execution);
    return "pong";
  },
});
const FIVE_CALLS = "for (let i = 0; i < 5; i += 1) await tools.ping({ i });";

/** What a fleet costs beside one host without a fleet. The server, one worker and the database share this machine. */
export async function fleetRows(row: Row, server: PostgresServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-bench-"));
  {
    using journal = createSqliteJournal({ path: join(folder, "journal.db") });
    await using runtime = await createRuntime({ tools: [ping], journal });
    const alone = await perSecond(() => runtime.execute(FIVE_CALLS));
    row("executions a second with five calls each, one host, journal in a file", alone, "", "");
  }
  rmSync(folder, { recursive: true });
  await using stack = new AsyncDisposableStack();
  const open = async (): Promise<Runtime> => {
    const journal = stack.use(createPostgresJournal({ url: server.url(), schema: "fleet" }));
    return stack.use(await createRuntime({ tools: [ping], fleet: stack.use(createFleet({ journal })) }));
  };
  const [submitter, worker] = [await open(), await open()];
  stack.use(await worker.work({ concurrency: AT_ONCE }));
  const run = async () => {
    await submitter.wait(await submitter.submit(FIVE_CALLS));
  };
  row("the same, submitted to a worker of a fleet", await perSecond(run), "", "350");
  const times = await firstCalls(submitter);
  row("submit to the first call, one after the other, p50", times[TIMED / 2] ?? Number.NaN, "ms", "≤ 10 ms");
  row("the same, p99", times[Math.floor(TIMED * 0.99)] ?? Number.NaN, "ms", "≤ 50 ms");
}

async function perSecond(run: () => Promise<unknown>): Promise<number> {
  const times = async (count: number) => {
    let left = count;
    const one = async () => {
      for (; left > 0; left -= 1) await run();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  };
  await times(COUNTED / 4);
  const since = performance.now();
  await times(COUNTED);
  return COUNTED / ((performance.now() - since) / 1000);
}

async function firstCalls(runtime: Runtime): Promise<readonly number[]> {
  const times: number[] = [];
  for (let n = 0; n < TIMED; n += 1) {
    const first = Promise.withResolvers<void>();
    const since = performance.now();
    called = () => first.resolve();
    const id = await runtime.submit(FIVE_CALLS);
    await first.promise;
    times.push(performance.now() - since);
    await runtime.wait(id);
  }
  called = () => {};
  return times.toSorted((a, b) => a - b);
}
