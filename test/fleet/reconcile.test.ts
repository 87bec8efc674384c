import { expect, test } from "vitest";
import { FleetJournal } from "../../src/fleet/fleet-journal.ts";
import { Reconciler } from "../../src/fleet/reconcile.ts";
import { Turns } from "../../src/fleet/turns.ts";
import { PortcullisError } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { header } from "../journal/records.ts";
import { MemoryQueue } from "./memory-queue.ts";

/** A queue that has a wake for each execution that it is asked about, unless it has lost them. */
class AskedQueue extends MemoryQueue {
  readonly asked: string[] = [];
  hasLost = false;

  override async unqueued(executions: readonly string[]): Promise<readonly string[]> {
    this.asked.push(...executions);
    return this.hasLost ? executions : [];
  }
}

function reconcilerOf(
  store: Journal,
  queue: AskedQueue,
  onError = (error: unknown): void => expect.unreachable(String(error)),
) {
  const journal = new FleetJournal(store, queue, false);
  return new Reconciler({ journal, queue, turns: new Turns(undefined), staleMs: 1000, everyMs: 1000, onError });
}

test("rounds look at each submitted execution, also at those that began in the same millisecond", async () => {
  const store = createMemoryJournal();
  const ids = Array.from({ length: 2600 }, (_, index) => `e${index}`);
  for (const id of ids) await store.create(header(id, { startedAt: 7 }));
  const queue = new AskedQueue();
  const reconciler = reconcilerOf(store, queue);
  for (let round = 0; round < 3; round += 1) expect(await reconciler.round()).toBe(0);
  expect(queue.asked.toSorted()).toEqual(ids.toSorted());
  // The next rounds begin again, with those that came since.
  await store.create(header("new", { startedAt: 7 }));
  for (let round = 0; round < 2; round += 1) await reconciler.round();
  expect(queue.asked).toContain("new");
});

test("an entry that cannot be read keeps no other execution from being woken, and is told once", async () => {
  const store = createMemoryJournal();
  for (const id of ["one", "two"]) await store.create(header(id));
  await store.create(header("left"), { driver: "dead", until: 1 });
  const damaged: Journal = {
    ...store,
    async *list(options) {
      options?.onDamaged?.(new PortcullisError("journal_corrupt", "damaged"));
      yield* store.list(options);
    },
  };
  const queue = new AskedQueue();
  queue.hasLost = true;
  const told: unknown[] = [];
  const reconciler = reconcilerOf(damaged, queue, (error) => told.push(error));
  for (let round = 0; round < 2; round += 1) expect(await reconciler.round()).toBe(3);
  expect(queue.asked.slice(0, 3).toSorted()).toEqual(["left", "one", "two"]);
  expect(told).toMatchObject([{ code: "journal_corrupt" }]);
});
