/**
 * Drives the executions of `shapes.ts` in a journal that other processes drive too, until all have ended:
 * `node worker.ts JOURNAL EFFECTS COUNT POINT`. With a POINT like `after call 12` it kills itself at that append.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { createRuntime, createSqliteJournal, PortcullisError, type Runtime } from "../../src/index.ts";
import type { Journal } from "../../src/journal/index.ts";
import { createMemorySandbox } from "../../src/testing.ts";
import { isWritten, makeTools, SHAPES } from "./shapes.ts";

const [, , path = "", effects = "", count = "0", point = ""] = process.argv;
const LEASE_MS = 500;

/** Dies before or after the nth append that holds a record of one type. */
function dying(journal: Journal, [when = "", type = "", nth = "0"]: readonly string[]): Journal {
  let seen = 0;
  return {
    create: (...given) => journal.create(...given),
    read: (...given) => journal.read(...given),
    find: (...given) => journal.find(...given),
    list: (...given) => journal.list(...given),
    renew: (...given) => journal.renew(...given),
    async append(execution, expected, records, options) {
      const isPoint = records.some((record) => record.type === type) && (seen += 1) === Number(nth);
      if (isPoint && when === "before") process.kill(process.pid, "SIGKILL");
      const head = await journal.append(execution, expected, records, options);
      if (isPoint) process.kill(process.pid, "SIGKILL");
      return head;
    },
  };
}

/** Decides what waits, as a person would: a payment whose outcome is unknown was done if the effects say so. */
async function decideWaiting(runtime: Runtime, id: string): Promise<void> {
  const { outcome } = await runtime.resume(id);
  if (outcome.type !== "waiting") return;
  const written = readFileSync(effects, "utf8");
  for (const { callId, inputDigest, why } of outcome.approvals) {
    const key = `${id}:${callId}:${inputDigest}`;
    const decision = why === "outcome_unknown" && isWritten(written, key) ? { done: { value: key } } : { allow: true };
    await runtime.decide(id, { [callId]: decision }).catch(ignoreRaces);
  }
  const results = Object.fromEntries(outcome.calls.map(({ callId }) => [callId, { value: 7 }]));
  await runtime.resume(id, { results }).catch(ignoreRaces);
}

/** Another driver was faster. */
function ignoreRaces(error: unknown): void {
  const codes = ["decision_exists", "call_unknown", "head_moved", "execution_driven"];
  if (!PortcullisError.is(error) || !codes.includes(error.code)) throw error;
}

using store = createSqliteJournal({ path });
await using runtime = await createRuntime({
  tools: makeTools((line) => appendFileSync(effects, `${line}\n`)),
  journal: point === "" ? store : dying(store, point.split(" ")),
  sandbox: createMemorySandbox(),
  approve: () => "later",
  logger: { error: () => {} },
  leaseMs: LEASE_MS,
  // In the memory sandbox the clocks count all that this process does.
  limits: { runningMs: 600_000, wallMs: 600_000 },
});
process.send?.("ready");
const known = new Set<string>();
for await (const { execution } of store.list()) known.add(execution);
const begin = async (index: number) => {
  const { program } = SHAPES[index % SHAPES.length] as (typeof SHAPES)[number];
  if (!known.has(`e${index}`)) await runtime.execute(program, { execution: `e${index}` }).catch(ignoreRaces);
};
await Promise.all(Array.from({ length: Number(count) }, (_, index) => begin(index)));
for (;;) {
  for await (const _ of runtime.recover());
  let open = 0;
  for await (const { id, state } of runtime.executions({ open: true })) {
    open += 1;
    if (state === "waiting") await decideWaiting(runtime, id).catch(ignoreRaces);
  }
  if (open === 0) break;
  await delay(20);
}
