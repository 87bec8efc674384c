/**
 * A worker of `kills.test.ts`: `node kill-worker.ts URL EFFECTS CLOCK_MS LEASE_MS`. Its clock is CLOCK_MS ahead. Sends `ready` when
 * it works; ends when it is told to by SIGTERM.
 */
const [, , url = "", effects = "", clockMs = "0", leaseMs = ""] = process.argv;
const now = Date.now;
Date.now = () => now() + Number(clockMs);

const { createFleet } = await import("../../src/fleet/index.ts");
const { createRuntime } = await import("../../src/index.ts");
const { createPostgresJournal } = await import("../../src/fleet/postgres/postgres-journal.ts");
const { driverOptions, model } = await import("../durability/drivers.ts");

await using journal = createPostgresJournal({ url, unavailableMs: 30_000 });
const told: string[] = [];
const onError = (error: unknown) => {
  const text = String(error);
  if (told.length < 20) process.stderr.write(`worker: ${text}\n`);
  told.push(text);
};
await using fleet = createFleet({ journal, onError });
await using runtime = await createRuntime({ ...driverOptions(effects), fleet, leaseMs: Number(leaseMs) });
await using worker = await runtime.fleet!.work(runtime, {
  concurrency: 16,
  reconcileMs: 300,
  model: () => model,
  onError,
});
process.send?.("ready");
await new Promise((resolve) => process.once("SIGTERM", resolve));
await worker.drain(2000);
if (process.connected) process.disconnect();
