import { join as joinPath } from "node:path";
import { createRuntime, createSqliteJournal } from "portcullis";
import type { PostgresServer } from "../../postgres-support/postgres-server.ts";
import { benchFolder } from "../row.ts";
import { join, makePing, type Row } from "./fleet-bench.ts";

/** Calls of one program, one after the other, and how often each way has its turn. The first turn of each is not timed. */
const [CALLS, ROUNDS] = [300, 4];
const PROGRAM = `for (let i = 0; i < ${CALLS}; i += 1) await tools.ping({ i });`;

/** What a call costs more in a fleet than with a journal in a file: each is a turn of the program, and an append. */
export async function callRows(row: Row, server: PostgresServer): Promise<void> {
  const began: number[] = [];
  const tools = [makePing(() => began.push(performance.now()))];
  const limits = { calls: CALLS };
  await using stack = new AsyncDisposableStack();
  const path = joinPath(stack.use(benchFolder()).path, "journal.db");
  const journal = stack.use(createSqliteJournal({ path }));
  const host = stack.use(await createRuntime({ tools, journal }));
  const fleet = await join(stack, server.url(), "calls", { tools });
  stack.use(await fleet.fleet!.work(fleet, { concurrency: 1 }));
  const ways = [
    { times: [] as number[], run: () => host.execute(PROGRAM, { limits }) },
    {
      times: [] as number[],
      run: async () => fleet.execution(await fleet.fleet!.submit(fleet, PROGRAM, { limits })).wait(),
    },
  ] as const;
  // In turn, so that what else the machine does is the same for both.
  for (let round = 0; round < ROUNDS; round += 1)
    for (const { times, run } of ways) {
      began.length = 0;
      await run();
      for (const [n, at] of began.entries()) if (round > 0 && n > 0) times.push(at - (began[n - 1] ?? Number.NaN));
    }
  const [inFile, inFleet] = ways.map(({ times }) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]);
  const of = `p50 of ${ways[0].times.length}`;
  row(`from a call to the next, journal in a file, ${of}`, inFile ?? Number.NaN, "ms", "");
  row(`from a call to the next, in a fleet, ${of}`, inFleet ?? Number.NaN, "ms", "");
  row("what a call costs more in a fleet", (inFleet ?? Number.NaN) - (inFile ?? Number.NaN), "ms", "≤ 0.5 ms");
}
