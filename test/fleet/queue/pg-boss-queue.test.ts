import { describe, expect, test, vi } from "vitest";
import { PgBossQueue } from "../../../src/fleet/queue/pg-boss-queue.ts";
import type { FleetDatabase, Wake } from "../../../src/fleet/fleet-store.ts";
import { testOfAll } from "../../support/all-tests.ts";
import { heldTransaction } from "../../postgres-support/held-transaction.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { useFleets } from "../use-fleets.ts";

describe.skipIf(noPostgres)("the queue in pg-boss", () => {
  const fleets = useFleets();

  /** A database of the test's own, and the queues of processes. */
  async function share() {
    const stack = new AsyncDisposableStack();
    const shared = stack.use(await fleets());
    const join = (schema?: string) => {
      const journal = shared.open(schema);
      const queue = stack.use(new PgBossQueue(journal, (error) => expect.unreachable(String(error))));
      return { journal, queue };
    };
    return { ...shared, join, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }

  /** Takes wakes, at most so many at once, until disposed. */
  async function taking(queue: PgBossQueue, { room = 10, passedOver = [] as readonly string[] } = {}) {
    const taken: Wake[] = [];
    const ends: (() => void)[] = [];
    const work = await queue.work({
      room: () => room - ends.length,
      passedOver: async () => passedOver,
      take: (wake, done) => {
        taken.push(wake);
        ends.push(done);
      },
      onError: (error) => expect.unreachable(String(error)),
    });
    return {
      taken,
      end: () => {
        for (const done of ends.splice(0)) done();
        work.pull();
      },
      [Symbol.asyncDispose]: () => work[Symbol.asyncDispose](),
    };
  }

  test("ten processes make its tables at once", async () => {
    await using shared = await share();
    const all = Array.from({ length: 10 }, () => shared.join());
    await Promise.all(all.map(({ queue }) => queue.open()));
    await all[3]?.queue.wake([{ execution: "e", tenant: "t" }]);
    await using worker = await taking((all[7] as (typeof all)[0]).queue);
    await expect.poll(() => worker.taken).toEqual([{ execution: "e", tenant: "t" }]);
  });

  test("journals in one database have queues of their own", async () => {
    await using shared = await share();
    const schemas = ["portcullis", "second", `${"long_".repeat(8)}four`];
    const queues = schemas.map((schema) => shared.join(schema).queue);
    for (const [index, queue] of queues.entries()) await queue.wake([{ execution: "same", tenant: `t${index}` }]);
    for (const [index, queue] of queues.entries()) {
      await using worker = await taking(queue);
      await expect.poll(() => worker.taken).toEqual([{ execution: "same", tenant: `t${index}` }]);
    }
  });

  test("a process whose connection remembers that there is no schema, which another one has made meanwhile, goes on with it", async () => {
    await using shared = await share();
    const [journal, other] = [shared.open(), shared.join()];
    const isRefused = vi.fn(async () => {
      await other.queue.open();
      // What PostgreSQL says, now and then, of a schema that was made while CREATE SCHEMA IF NOT EXISTS waited.
      const duplicate = new Error('duplicate key value violates unique constraint "pg_namespace_nspname_index"');
      throw Object.assign(duplicate, { code: "23505", schema: "pg_catalog" });
    });
    const query: FleetDatabase["query"] = async (text, values) => {
      if (text.includes("CREATE SCHEMA")) await isRefused();
      return journal.query(text, values);
    };
    await using late = new PgBossQueue(
      { schema: journal.schema, query, onNotify: journal.onNotify.bind(journal) },
      (error) => expect.unreachable(String(error)),
    );
    await late.wake([{ execution: "e", tenant: "t" }]);
    expect(isRefused).toHaveBeenCalledOnce();
    expect(await other.queue.queued()).toMatchObject([{ tenant: "t", wakes: 1 }]);
  });

  test("a wake is in the transaction of what it tells: before the commit no worker has it, and after a rollback none", async () => {
    await using shared = await share();
    const [{ queue }, other] = [shared.join(), shared.join()];
    await queue.wake([{ execution: "decided", tenant: "t" }]);
    await using stack = new AsyncDisposableStack();
    const taken = () => worker.taken.map(({ execution }) => execution).toSorted();
    let worker = { taken: [] as Wake[] };
    await heldTransaction(shared.url, async (within) => {
      await queue.wake([{ execution: "decided", tenant: "t" }], within);
      await queue.wake([{ execution: "submitted", tenant: "t" }], within);
      worker = stack.use(await taking(other.queue));
      await other.queue.wake([{ execution: "third", tenant: "t" }]);
      // The wake that was queued before is taken only after the decision is there.
      await expect.poll(taken).toEqual(["third"]);
    });
    await expect.poll(taken).toEqual(["decided", "submitted", "third"]);
    const undone = heldTransaction(shared.url, async (within) => {
      await queue.wake([{ execution: "undone", tenant: "t" }], within);
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    expect(await queue.queued()).toEqual([]);
  });

  test("an execution has one wake, and one more once a worker was handed it; a wake for now takes the place of a later one", async () => {
    await using shared = await share();
    const { queue, journal } = shared.join();
    const wake = { execution: "e", tenant: "t" };
    await queue.wake([{ ...wake, afterMs: 3_600_000, failures: 2 }]);
    expect(await queue.queued()).toEqual([]);
    await queue.wake([wake, wake]);
    expect(await queue.queued()).toMatchObject([{ tenant: "t", wakes: 1 }]);
    await queue.wake([{ ...wake, afterMs: 3_600_000 }]);
    await using worker = await taking(queue);
    await expect.poll(() => worker.taken).toHaveLength(1);
    await queue.wake([wake]);
    await expect.poll(() => worker.taken).toHaveLength(2);
    worker.end();
    await expect.poll(async () => (await journal.query("SELECT state FROM portcullis_queue.job")).rows).toEqual([]);
  });

  test("a worker gets no more wakes than it has room for, and none of tenants that it passes over", async () => {
    await using shared = await share();
    const { queue } = shared.join();
    await queue.wake(Array.from({ length: 6 }, (_, index) => ({ execution: `a${index}`, tenant: "a" })));
    await queue.wake([{ execution: "b", tenant: "b" }]);
    expect(
      (await queue.queued())
        .map(({ tenant, wakes }) => [tenant, wakes])
        .toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1)),
    ).toEqual([
      ["a", 6],
      ["b", 1],
    ]);
    await using of = await taking(queue, { passedOver: ["a"] });
    await expect.poll(() => of.taken).toEqual([{ execution: "b", tenant: "b" }]);
    await using worker = await taking(queue, { room: 2 });
    await expect.poll(() => worker.taken).toHaveLength(2);
    worker.end();
    await expect.poll(() => worker.taken).toHaveLength(4);
  });

  test("names may have every character that a journal keeps", async () => {
    await using shared = await share();
    const { queue } = shared.join();
    const wakes = ["a\0b", "\\0000", "half \ud800", "ü😀'"].map((execution) => ({
      execution,
      tenant: `of ${execution}`,
    }));
    await queue.wake(wakes);
    expect((await queue.queued()).map(({ tenant }) => tenant).toSorted()).toEqual(
      wakes.map(({ tenant }) => tenant).toSorted(),
    );
    await using worker = await taking(queue, { passedOver: ["of a\0b"] });
    await expect.poll(() => worker.taken).toHaveLength(3);
    expect(worker.taken).toEqual(expect.arrayContaining(wakes.slice(1)));
  });

  /** Takes wakes until there are none, a few at a time. */
  async function takeAll(queue: PgBossQueue, atOnce: number) {
    await using worker = await taking(queue, { room: atOnce });
    for (let known = 0; (await queue.queued()).length > 0; known = worker.taken.length) {
      await expect.poll(() => worker.taken.length, { interval: 2 }).toBeGreaterThan(known);
      worker.end();
    }
    return worker.taken;
  }

  testOfAll(
    "a process that was silent for long places its wakes behind none of those that wait, and before none that is first",
    async () => {
      await using shared = await share();
      const [busy, silent] = [shared.join(), shared.join()] as const;
      await silent.queue.open();
      const wakes = Array.from({ length: 200 }, (_, n) => ({ execution: `a${n}`, tenant: "a", isNew: true }));
      await busy.queue.wake(wakes);
      await takeAll(busy.queue, 10);
      await busy.queue.wake([{ execution: "first", tenant: "a", isNew: true }]);
      await silent.queue.wake(Array.from({ length: 20 }, (_, n) => ({ execution: `z${n}`, tenant: "z", isNew: true })));
      const order = (await takeAll(busy.queue, 1)).map(({ execution }) => execution);
      expect(order.indexOf("first")).toBeLessThanOrEqual(2);
    },
    120_000,
  );

  test("places begin anew once they are very high and nothing waits, and none is higher than its column holds", async () => {
    await using shared = await share();
    const { queue, journal } = shared.join();
    await queue.open();
    await journal.query("UPDATE portcullis_queue.places SET place = 2147483646");
    const next = shared.join();
    await next.queue.wake([{ execution: "waits", tenant: "a", afterMs: 600_000 }]);
    await journal.query("UPDATE portcullis_queue.places SET place = 2147483646");
    const last = shared.join();
    await last.queue.wake(["x", "y", "z"].map((execution) => ({ execution, tenant: "a" })));
    const { rows } = await journal.query(
      "SELECT singleton_key AS id, priority FROM portcullis_queue.job WHERE name = 'wakes' ORDER BY 1",
    );
    expect(rows).toEqual([
      { id: "waits", priority: -1 },
      ...["x", "y", "z"].map((id) => ({ id, priority: -2147483647 })),
    ]);
  });
});
