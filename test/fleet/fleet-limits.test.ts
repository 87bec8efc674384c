import { describe, expect, test } from "vitest";
import { PostgresLimits } from "../../src/fleet/fleet-limits.ts";
import { PgBossQueue } from "../../src/fleet/queue/pg-boss-queue.ts";
import { noPostgres } from "../postgres-support/postgres-server.ts";
import { manualClock } from "../support/clock.ts";
import { useFleets } from "./use-fleets.ts";

const never = new AbortController().signal;

test("a call that ends while its place is told of leaves the line after that", async () => {
  const clock = manualClock();
  const [order, told, ended] = [[] as string[], Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const database = {
    schema: "fleet",
    onNotify: () => ({ [Symbol.dispose]: () => {} }),
    query: async (text: string) => {
      const isLeaving = text.includes("gone");
      // The database is slow to hear that the place is still held.
      if (!isLeaving && order.length === 1) await told.promise;
      order.push(isLeaving ? "leaves" : "stands");
      return { rows: [{ has_place: true }] };
    },
  } as unknown as ConstructorParameters<typeof PostgresLimits>[0];
  const limits = new PostgresLimits(database);
  const begun = Promise.withResolvers<void>();
  const running = limits.run("tool", 1, () => (begun.resolve(), ended.promise), never);
  await begun.promise;
  clock.pass(2000);
  ended.resolve();
  await running;
  told.resolve();
  await limits[Symbol.asyncDispose]();
  expect(order).toEqual(["stands", "stands", "leaves"]);
});

describe.skipIf(noPostgres)("bounds over the processes of a fleet", () => {
  const fleets = useFleets();

  /** The bounds as several processes have them, in one database. */
  async function share() {
    const stack = new AsyncDisposableStack();
    const shared = stack.use(await fleets());
    const own = shared.open();
    await stack.use(new PgBossQueue(own, (error) => expect.unreachable(String(error)))).open();
    const join = () => stack.use(new PostgresLimits(shared.open()));
    return { own, join, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }

  test("those that wait come to their turn in the order in which they came, whichever process they are of", async () => {
    await using shared = await share();
    const [one, other] = [shared.join(), shared.join()];
    const release = Promise.withResolvers<void>();
    const order: number[] = [];
    const calls = [one.run("tool", 1, () => release.promise, never)];
    const inLine = async () => {
      const { rows } = await shared.own.query("SELECT jsonb_array_length(state) AS n FROM portcullis_queue.limits");
      return rows[0]?.["n"];
    };
    for (const index of [1, 2, 3, 4]) {
      await expect.poll(inLine).toBe(index);
      calls.push((index % 2 === 0 ? one : other).run("tool", 1, async () => void order.push(index), never));
    }
    await expect.poll(inLine).toBe(5);
    release.resolve();
    await Promise.all(calls);
    expect(order).toEqual([1, 2, 3, 4]);
  });

  test("a call that is given up leaves the line, and takes no place with it", async () => {
    await using shared = await share();
    const limits = shared.join();
    const [begun, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = limits.run("tool", 1, () => (begun.resolve(), release.promise), never);
    await begun.promise;
    const leave = new AbortController();
    const second = limits.run("tool", 1, async () => expect.unreachable("it was given up"), leave.signal);
    const third = shared.join().run("tool", 1, async () => 3, never);
    leave.abort(new Error("given up"));
    await expect(second).rejects.toThrow("given up");
    await expect(limits.run("tool", 1, async () => 4, AbortSignal.abort(new Error("before")))).rejects.toThrow(
      "before",
    );
    release.resolve();
    await first;
    expect(await third).toBe(3);
    expect(await limits.run("tool", 1, async () => 5, never)).toBe(5);
  });

  test("the place of a process that died is free once its lease has ended", async () => {
    await using shared = await share();
    await shared.own.query("INSERT INTO portcullis_queue.limits VALUES ('places tool', $1)", [
      JSON.stringify([["dead", Date.now() + 500]]),
    ]);
    expect(await shared.join().run("tool", 1, async () => "ran", never)).toBe("ran");
    const { rows } = await shared.own.query("SELECT state FROM portcullis_queue.limits");
    expect(JSON.stringify(rows)).not.toContain("dead");
  });

  test("no more calls start in a span than a rate allows, whichever process they are of, and one more once it is over", async () => {
    await using shared = await share();
    const [one, other] = [shared.join(), shared.join()];
    const rate = { calls: 3, perMs: 600_000 };
    const given = () => Promise.all([one, other, one, other].map((limits) => limits.mayStart("tool", rate)));
    expect((await given()).filter((isGiven) => isGiven)).toHaveLength(3);
    expect(await given()).toEqual([false, false, false, false]);
    const started = other.start("tool", rate, never);
    // Slices of a second, of which the rate counts 602: as if time went by.
    const age = (slices: number) =>
      shared.own.query(
        `UPDATE portcullis_queue.limits SET state = (
           SELECT jsonb_object_agg(at::bigint - ${slices}, starts) FROM jsonb_each(state) AS s (at, starts)
         )`,
      );
    await age(590);
    expect(await one.mayStart("tool", rate)).toBe(false);
    await age(20);
    await started;
    expect(await one.mayStart("tool", rate)).toBe(true);
  });
});
