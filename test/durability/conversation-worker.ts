/**
 * Holds the conversations of `conversations.test.ts` in a journal that other processes use too, until all have ended:
 * `node conversation-worker.ts JOURNAL EFFECTS COUNT`. Sends `ready` when it begins.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { childExecution } from "../../src/conversations/calls/child-execution.ts";
import { createRuntime, createSqliteJournal, PortcullisError, type Runtime } from "../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { isWritten, makeTools } from "./shapes.ts";

const [, , path = "", effects = "", count = "0"] = process.argv;

const PROGRAM = `const doubled = await Promise.all([1, 2, 3].map((n) => tools.double({ n })));
  const key = await tools.refund({ n: 4 });
  return { sum: doubled.reduce((a, b) => a + b), units: await tools.ask({ n: 5 }), paid: typeof key };`;

const pick = (results: readonly { readonly text: string }[]) => results.map(({ text }) => text.slice(0, 4)).join("|");

/** Two turns with calls of every kind, and the answer. */
const model = scriptedModel([
  {
    calls: [
      { id: "double-1", tool: "double", input: { n: 1 } },
      { id: "pay-1", tool: "pay", input: { n: 2 } },
      { id: "refund-1", tool: "refund", input: { n: 3 } },
    ],
  },
  ({ results }) => ({
    text: pick(results),
    programs: [PROGRAM],
    calls: [{ id: "ask-1", tool: "ask", input: { n: 1 } }],
  }),
  ({ results }) => ({ text: results.map(({ text }) => text).join("|") }),
]);

/** Decides what waits, as a person would: a payment whose outcome is unknown was done if the effects say so. */
async function decideWaiting(runtime: Runtime, id: string): Promise<void> {
  const { ending } = await runtime.resumeAgent(id, { model });
  if (ending.type !== "waiting") return;
  const written = readFileSync(effects, "utf8");
  const decisions = ending.approvals.map(({ callId, inputDigest, why, hold }) => {
    const [own = "", ofProgram] = callId.split("/");
    const key = ofProgram === undefined ? `${id}:${own}` : `${childExecution(id, own)}:${ofProgram}`;
    const done = `${key}:${inputDigest}`;
    const isDone = why === "outcome_unknown" && isWritten(written, done);
    return [callId, { ...(isDone ? { done: { value: done } } : { allow: true }), hold }] as const;
  });
  const results = Object.fromEntries(ending.calls.map(({ callId }) => [callId, { value: 7 }]));
  await runtime.resumeAgent(id, { model, decisions: Object.fromEntries(decisions), results });
}

/** Another driver was faster. */
function ignoreRaces(error: unknown): void {
  const codes = ["decision_exists", "call_unknown", "head_moved", "execution_driven", "execution_exists"];
  if (!PortcullisError.is(error) || !codes.includes(error.code)) throw error;
}

using journal = createSqliteJournal({ path });
await using runtime = await createRuntime({
  tools: makeTools(
    (key) => appendFileSync(effects, `${key} begin\n`),
    async (key, kind) => {
      appendFileSync(effects, `${key} ${kind}\n`);
    },
    ["direct", "programmatic"],
  ),
  journal,
  sandbox: createMemorySandbox(),
  approve: () => "later",
  logger: { error: () => {} },
  leaseMs: 500,
  // In the memory sandbox the clocks count all that this process does.
  limits: { runningMs: 600_000, wallMs: 600_000 },
});
process.send?.("ready");
const ids = Array.from({ length: Number(count) }, (_, index) => `c${index}`);
await Promise.all(ids.map((execution) => runtime.agent({ model, task: "Work.", execution }).catch(ignoreRaces)));
for (;;) {
  for await (const one of runtime.recover({ model: () => model })) if ("error" in one) ignoreRaces(one.error);
  let open = 0;
  for await (const { execution: id, kind, state } of runtime.executions({ open: true })) {
    open += 1;
    if (state === "waiting" && kind === "conversation") await decideWaiting(runtime, id).catch(ignoreRaces);
  }
  if (open === 0) break;
  await delay(20);
}
if (process.connected) process.disconnect();
