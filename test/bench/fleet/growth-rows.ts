import type { PostgresServer } from "../../postgres-support/postgres-server.ts";
import { FIVE_CALLS, join, makePing, type Row, startWorker } from "./fleet-bench.ts";

const WORKERS = [1, 2, 4, 8] as const;
/** Executions that a worker drives at once, and how long each of their calls takes, in milliseconds. */
const [PLACES, CALL_MS] = [2, 200];
/** Executions of each worker that are counted. */
const COUNTED = 10;

/** Executions a second of more and more workers, each a process, whose calls wait: what the fleet allows, and not the processors. */
export async function growthRows(row: Row, server: PostgresServer): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const options = { url: server.url(), schema: "growth", concurrency: PLACES, callMs: CALL_MS };
  const submitter = await join(stack, options.url, options.schema, { tools: [makePing()] });
  const run = async () => {
    await submitter.execution(await submitter.fleet!.submit(submitter, FIVE_CALLS)).wait();
  };
  let started = 0;
  let ofOne = Number.NaN;
  for (const workers of WORKERS) {
    for (; started < workers; started += 1) stack.use(await startWorker(options));
    await Promise.all(Array.from({ length: workers * PLACES * 2 }, run));
    const count = workers * COUNTED;
    const since = performance.now();
    await Promise.all(Array.from({ length: count }, run));
    const rate = count / ((performance.now() - since) / 1000);
    if (workers === 1) ofOne = rate;
    const aim = workers === 1 ? "" : `${workers} × that of one`;
    row(`executions a second of five calls of ${CALL_MS} ms, workers with ${PLACES} places: ${workers}`, rate, "", aim);
    if (workers > 1) row("the same, beside one worker", rate / ofOne, "×", `${workers} ×`);
  }
}
