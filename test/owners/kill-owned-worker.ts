/**
 * A worker of `owner-kills.test.ts`, without tools: `node kill-owned-worker.ts DATABASE OWNER WORKER_KEY`. Sends `ready` when it works.
 */
import { createFleet } from "../../src/fleet/index.ts";
import { createRuntime } from "../../src/index.ts";
import { createPostgresJournal } from "../../src/journal/postgres/postgres-journal.ts";
import { createMemorySandbox } from "../../src/testing.ts";
import { LEASE_MS, OWNER_MS, RECONCILE_MS } from "./owner-kill-cases.ts";

const [, , database = "", url = "", workerKey = ""] = process.argv;

await using journal = createPostgresJournal({ url: database });
await using fleet = createFleet({ journal, onError: () => {} });
await using runtime = await createRuntime({
  tools: [],
  owners: [{ url, workerKey }],
  ownerMs: OWNER_MS,
  fleet,
  sandbox: createMemorySandbox(),
  approve: () => "later",
  logger: { error: () => {} },
  leaseMs: LEASE_MS,
  // In the memory sandbox the clocks count all that this process does.
  limits: { runningMs: 600_000, wallMs: 600_000 },
});
await using _ = await runtime.work({ concurrency: 8, reconcileMs: RECONCILE_MS, onError: () => {} });
process.send?.({ ready: true });
await new Promise((resolve) => process.once("disconnect", resolve));
