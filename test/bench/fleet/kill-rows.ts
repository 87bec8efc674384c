import { setTimeout as delay } from "node:timers/promises";
import type { PostgresServer } from "../../postgres-support/postgres-server.ts";
import { Calls, join, LEASE_MS, makePing, type Row, startWorker, timeRows, type WorkerProcess } from "./fleet-bench.ts";

/** Workers that are killed, one after the other, and executions that each of them drives then. */
const [KILLED, DRIVEN] = [5, 8];
const CALL_MS = 100;
const PROGRAM = "for (let i = 0; i < 20_000; i += 1) await tools.ping({ i });";

/** How long executions stand still whose worker is killed. */
export async function killRows(row: Row, server: PostgresServer): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const options = { url: server.url(), schema: "kills", concurrency: DRIVEN, callMs: CALL_MS };
  const calls = new Calls();
  const start = () => startWorker(options, calls.onCall);
  const limits = { calls: 1_000_000 };
  const submitter = await join(stack, options.url, options.schema, { tools: [makePing()] });
  const first = await start();
  const executions = await Promise.all(
    Array.from({ length: DRIVEN }, () => submitter.fleet!.submit(submitter, PROGRAM, { limits })),
  );
  const goesOn = () => Promise.all(executions.map((execution) => calls.next(execution)));
  await goesOn();
  const times: number[] = [];
  let driving: WorkerProcess = first;
  for (let n = 0; n < KILLED; n += 1) {
    const next = await start();
    await driving.kill();
    const killed = performance.now();
    await Promise.all(
      executions.map(async (execution) => {
        await calls.next(execution);
        times.push(performance.now() - killed);
      }),
    );
    driving = next;
    // Anywhere between two renewals of its leases.
    await delay((LEASE_MS / 3) * (n / KILLED));
  }
  await driving.kill();
  timeRows(row, `kill -9 of a worker to the next turn, lease ${LEASE_MS / 1000} s`, times, ["", "≤ 5 s"]);
}
