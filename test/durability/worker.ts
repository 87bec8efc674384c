/**
 * Drives the executions of `shapes.ts` in a journal that other processes drive too, until all have ended:
 * `node worker.ts JOURNAL EFFECTS COUNT LOCK_TIMEOUT_MS POINT`. With a POINT of `points.ts` it kills itself there. Sends
 * `ready` when it begins, and the number of its attempts that ended because the journal was locked when it ends.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { createRuntime, createSqliteJournal, PortcullisError, type Runtime } from "../../src/index.ts";
import type { Journal } from "../../src/journal/index.ts";
import { decisionsOf, driverOptions, resultsOf } from "./drivers.ts";
import { KillPoint } from "./points.ts";
import { SHAPES } from "./shapes.ts";

const [, , path = "", effects = "", count = "0", lockTimeoutMs = "10000", pointText = ""] = process.argv;
const LEASE_MS = 500;
const point = new KillPoint(pointText);
let locked = 0;

/** A journal whose driver dies at a point. */
function dying(journal: Journal): Journal {
  return {
    create: (...given) => point.at(["create"], () => journal.create(...given)),
    read: (...given) => reading(journal.read(...given)),
    find: (...given) => journal.find(...given),
    list: (...given) => journal.list(...given),
    renew: (...given) => point.at(["renew"], () => journal.renew(...given)),
    append: (execution, expected, records, options) =>
      point.at(
        records.map(({ type }) => type),
        () => journal.append(execution, expected, records, options),
      ),
  };
}

async function* reading<Value>(values: AsyncIterable<Value>): AsyncGenerator<Value> {
  for await (const value of values) yield await point.at(["read"], () => value);
}

async function decideWaiting(runtime: Runtime, id: string): Promise<void> {
  const { outcome } = await runtime.execution(id).resume();
  if (outcome.type !== "waiting") return;
  for (const [callId, decision] of Object.entries(decisionsOf(id, outcome.approvals, effects)))
    await runtime
      .execution(id)
      .decide({ [callId]: decision })
      .catch(ignoreRaces);
  await runtime
    .execution(id)
    .resume({ results: resultsOf(outcome.calls) })
    .catch(ignoreRaces);
}

/** Another driver was faster, or another process kept the journal locked. */
function ignoreRaces(error: unknown): void {
  const codes = ["decision_exists", "call_unknown", "head_moved", "execution_driven", "journal_locked"];
  if (!PortcullisError.is(error) || !codes.includes(error.code)) throw error;
  if (error.code === "journal_locked") locked += 1;
}

using store = createSqliteJournal({ path, lockTimeoutMs: Number(lockTimeoutMs) });
await using runtime = await createRuntime({
  ...driverOptions(effects, ["programmatic"], (key, kind) =>
    point.at(["effect"], () => appendFileSync(effects, `${key} ${kind}\n`)),
  ),
  journal: pointText === "" ? store : dying(store),
  leaseMs: LEASE_MS,
});
process.send?.("ready");
const known = new Set<string>();
for await (const { execution } of store.list()) known.add(execution);
const begin = async (index: number) => {
  const { program } = SHAPES[index % SHAPES.length] as (typeof SHAPES)[number];
  const id = `e${index}`;
  // Where the journal was locked, whoever asked for the execution asks again.
  while (!known.has(id)) {
    known.add(id);
    await runtime.execute(program, { id: id }).catch(async (error: unknown) => {
      ignoreRaces(error);
      if (!(await exists(id))) known.delete(id);
    });
  }
};
const exists = (id: string) =>
  store.find(id).then(
    () => true,
    () => false,
  );
await Promise.all(Array.from({ length: Number(count) }, (_, index) => begin(index)));
for (;;) {
  for await (const one of runtime.recover()) if ("error" in one) ignoreRaces(one.error);
  let open = 0;
  for await (const { execution: id, state } of runtime.executions.list({ open: true })) {
    open += 1;
    if (state === "waiting") await decideWaiting(runtime, id).catch(ignoreRaces);
  }
  if (open === 0) break;
  await delay(20);
}
process.send?.(locked);
if (process.connected) process.disconnect();
