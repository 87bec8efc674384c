/*
 * Starts many executions that wait for an approval, with a journal in a file, and sends by how much this process has grown.
 * Argument: the journal's path. Started with --expose-gc.
 */
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createRuntime, createSqliteJournal, defineTool } from "portcullis";
import { createIsolateSandbox } from "portcullis/sandboxes";

const EXECUTIONS = 10_000;
const WIDE = 8;
const WARM_UP = 300;

const held = defineTool({
  name: "held",
  description: "Needs approval",
  inputSchema: z.looseObject({}),
  allowedCallers: ["programmatic"],
  effect: "write",
  approval: "always",
  execute: () => "done",
});
const collectGarbage = globalThis.gc as () => void;

const sandbox = createIsolateSandbox();
using journal = createSqliteJournal({ path: process.argv[2] ?? "", durability: "relaxed" });
await using runtime = await createRuntime({ tools: [held], sandbox, journal, approve: () => "later" });

async function begin(count: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const { outcome } = await runtime.execute("return await tools.held({});");
      if (outcome.type !== "waiting") throw new Error(`An execution ended as ${JSON.stringify(outcome)}.`);
    }
  };
  await Promise.all(Array.from({ length: WIDE }, worker));
}

function memory() {
  collectGarbage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, held: heapUsed + external };
}

await begin(WARM_UP);
const before = memory();
await begin(EXECUTIONS);
const after = memory();
// An engine takes a moment to be ready again.
const inUse = () => sandbox.pool.counts.engines - sandbox.pool.counts.idle;
for (let looks = 0; looks < 50 && inUse() > 0; looks += 1) await delay(100);
process.send?.({
  executions: EXECUTIONS,
  grownMb: (after.rss - before.rss) / 1e6,
  heldMb: (after.held - before.held) / 1e6,
  kept: inUse(),
});
process.disconnect();
