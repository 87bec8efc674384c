/**
 * A worker of `kills.test.ts`: `node kill-worker.ts URL EFFECTS CLOCK_MS`. Its clock is CLOCK_MS ahead. Sends `ready` when
 * it works; ends when it is told to by SIGTERM.
 */
import { appendFileSync } from "node:fs";

const [, , url = "", effects = "", clockMs = "0"] = process.argv;
const now = Date.now;
Date.now = () => now() + Number(clockMs);

const { createFleet } = await import("../../src/fleet/index.ts");
const { createRuntime } = await import("../../src/index.ts");
const { createMemorySandbox } = await import("../../src/runtime/testing.ts");
const { makeTools } = await import("../durability/shapes.ts");
const { createPostgresJournal } = await import("../../src/fleet/postgres/postgres-journal.ts");
const { LEASE_MS, model, RECONCILE_MS } = await import("./kill-cases.ts");

await using journal = createPostgresJournal({ url, unavailableMs: 30_000 });
const told: string[] = [];
const onError = (error: unknown) => {
  const text = String(error);
  if (told.length < 20) process.stderr.write(`worker: ${text}\n`);
  told.push(text);
};
await using fleet = createFleet({ journal, onError });
await using runtime = await createRuntime({
  tools: makeTools(
    (key) => appendFileSync(effects, `${key} begin\n`),
    async (key, kind) => appendFileSync(effects, `${key} ${kind}\n`),
    ["direct", "programmatic"],
  ),
  fleet,
  sandbox: createMemorySandbox(),
  approve: () => "later",
  logger: { error: () => {} },
  leaseMs: LEASE_MS,
  // In the memory sandbox the clocks count all that this process does.
  limits: { runningMs: 600_000, wallMs: 600_000 },
});
await using worker = await runtime.work({ concurrency: 16, reconcileMs: RECONCILE_MS, model: () => model, onError });
process.send?.("ready");
await new Promise((resolve) => process.once("SIGTERM", resolve));
await worker.drain(2000);
if (process.connected) process.disconnect();
