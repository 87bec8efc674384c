/**
 * Holds the conversations of `conversations.test.ts` in a journal that other processes use too, until all have ended:
 * `node conversation-worker.ts JOURNAL EFFECTS COUNT`. Sends `ready` when it begins.
 */
import { setTimeout as delay } from "node:timers/promises";
import { createRuntime, createSqliteJournal, PortcullisError, type Runtime } from "../../src/index.ts";
import { decisionsOf, driverOptions, model, resultsOf } from "./drivers.ts";

const [, , path = "", effects = "", count = "0"] = process.argv;

async function decideWaiting(runtime: Runtime, id: string): Promise<void> {
  const { ending } = await runtime.execution(id).resume({ model });
  if (ending.type !== "waiting") return;
  const decisions = decisionsOf(id, ending.approvals, effects);
  await runtime.execution(id).resume({ model, decisions, results: resultsOf(ending.calls) });
}

/** Another driver was faster. */
function ignoreRaces(error: unknown): void {
  const codes = ["decision_exists", "call_unknown", "head_moved", "execution_driven", "execution_exists"];
  if (!PortcullisError.is(error) || !codes.includes(error.code)) throw error;
}

using journal = createSqliteJournal({ path });
await using runtime = await createRuntime({ ...driverOptions(effects), journal, leaseMs: 500 });
process.send?.("ready");
const ids = Array.from({ length: Number(count) }, (_, index) => `c${index}`);
await Promise.all(ids.map((execution) => runtime.agent({ model, task: "Work.", id: execution }).catch(ignoreRaces)));
for (;;) {
  for await (const one of runtime.recover({ model: () => model })) if ("error" in one) ignoreRaces(one.error);
  let open = 0;
  for await (const { execution: id, kind, state } of runtime.executions.list({ open: true })) {
    open += 1;
    if (state === "waiting" && kind === "conversation") await decideWaiting(runtime, id).catch(ignoreRaces);
  }
  if (open === 0) break;
  await delay(20);
}
if (process.connected) process.disconnect();
