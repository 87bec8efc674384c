/* A worker of a fleet in a process of its own: `node worker-process.ts OPTIONS`. Sends `ready`, and the execution of each call. */
import { join, LEASE_MS, makePing, type WorkerOptions } from "./fleet-bench.ts";

const { url, schema, concurrency, callMs } = JSON.parse(process.argv[2] ?? "") as WorkerOptions;
await using stack = new AsyncDisposableStack();
const ping = makePing((execution) => process.send?.(execution), { callMs });
const runtime = await join(stack, url, schema, { tools: [ping], leaseMs: LEASE_MS });
stack.use(await runtime.fleet!.work(runtime, { concurrency }));
const ended = new Promise((resolve) => process.once("SIGTERM", resolve));
process.send?.("ready");
await ended;
process.disconnect();
