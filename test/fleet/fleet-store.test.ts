import { describe, expect, test } from "vitest";
import { FleetStore } from "../../src/fleet/fleet-store.ts";
import { PgBossQueue } from "../../src/fleet/queue/pg-boss-queue.ts";
import type { JournalRecord } from "../../src/journal/index.ts";
import { header, outcome, turn } from "../journal/records.ts";
import { noPostgres } from "../postgres-support/postgres-server.ts";
import { useFleets } from "./use-fleets.ts";

const NEVER = Number.POSITIVE_INFINITY;
const claim = (driver: string, leaseMs: number) =>
  ({ type: "claim", driver, leaseMs, at: Date.now() }) satisfies JournalRecord;

describe.skipIf(noPostgres)("what a fleet notes of executions", () => {
  const fleets = useFleets();

  async function share() {
    const stack = new AsyncDisposableStack();
    const shared = stack.use(await fleets());
    const journal = shared.open();
    const queue = stack.use(new PgBossQueue(journal, (error) => expect.unreachable(String(error))));
    await queue.open();
    const store = new FleetStore(journal);
    const lost = async () => (await store.lost(60_000)).map(({ execution }) => execution).toSorted();
    return { journal, queue, store, lost, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }

  test("an execution is to be woken while no driver holds it and no wake names it, until it rests or ends", async () => {
    await using shared = await share();
    const { journal, queue, store, lost } = shared;
    await journal.create(header("submitted"));
    await journal.create(header("queued"));
    await queue.wake([{ execution: "queued", tenant: "t" }]);
    await journal.create(header("driven"), { driver: "a", until: Date.now() + 60_000 });
    await journal.create(header("left"), { driver: "a", until: Date.now() + 60_000 });
    await journal.renew("left", { driver: "a", until: 0 });
    await journal.create(header("dead"), { driver: "a", until: Date.now() - 1 });
    await journal.create(header("ended"));
    await journal.append("ended", 1, [outcome]);
    expect(await lost()).toEqual(["dead", "left", "submitted"]);
    await journal.append("submitted", 1, [claim("b", 60_000)]);
    expect(await store.rest("left", 1, NEVER)).toBe(true);
    expect(await lost()).toEqual(["dead"]);
    await journal.append("left", 1, [turn("event")]);
    expect(await lost()).toEqual(["dead", "left"]);
    expect(await store.rest("left", 2, Date.now() - 1)).toBe(true);
    expect(await store.rest("dead", 1, Date.now() + 3_600_000)).toBe(true);
    expect(await lost()).toEqual(["left"]);
  });

  test("a wake that a worker was handed and has not ended names its execution for a while only", async () => {
    await using shared = await share();
    const { journal, queue, store } = shared;
    await journal.create(header("one"));
    await queue.wake([{ execution: "one", tenant: "t" }]);
    const taken = Promise.withResolvers<void>();
    await using _ = await queue.work({
      room: () => 1,
      passedOver: async () => [],
      take: () => taken.resolve(),
      onError: (error) => expect.unreachable(String(error)),
    });
    await taken.promise;
    expect(await store.lost(60_000)).toEqual([]);
    await expect.poll(() => store.lost(1)).toMatchObject([{ execution: "one", isNew: true }]);
  });

  test("rounds look at each submitted execution, also at those that came since", async () => {
    await using shared = await share();
    const { journal, lost } = shared;
    const ids = Array.from({ length: 1200 }, (_, index) => `e${index}`);
    await Promise.all(ids.map((id) => journal.create(header(id, { startedAt: 7 }))));
    const found = [...(await lost()), ...(await lost()), ...(await lost())];
    expect(found.toSorted()).toEqual(ids.toSorted());
    await journal.create(header("new", { startedAt: 7 }));
    expect([...(await lost()), ...(await lost()), ...(await lost())]).toContain("new");
  });

  test("only an execution of this head that no driver holds, and whose programs have the heads that were read, comes to rest", async () => {
    await using shared = await share();
    const { journal, store } = shared;
    await journal.create(header("one"), { driver: "a", until: Date.now() + 60_000 });
    await journal.create(header("program"));
    expect(await store.rest("one", 1, NEVER)).toBe(false);
    await journal.renew("one", { driver: "a", until: 0 });
    await journal.append("one", 1, [turn("event")]);
    expect(await store.rest("one", 1, NEVER)).toBe(false);
    const rest = (head: number) => store.rest("one", 2, NEVER, new Map(Object.entries({ program: head, gone: 3 })));
    expect(await rest(2)).toBe(false);
    await journal.append("program", 1, [turn("event")]);
    expect(await rest(1)).toBe(false);
    expect(await rest(2)).toBe(true);
  });

  test("notes what workers lacked for an execution, until a driver claims it, it rests or ends, and keeps few names of many", async () => {
    await using shared = await share();
    const { journal, store } = shared;
    const needsOf = async (id: string) => (await journal.find(id)).needs;
    const counts = async () => Object.fromEntries(await store.lacking());
    const tools = { what: "tools", names: ["crm.find", "ü\\😀"] } as const;
    for (const id of ["one", "two", "rests", "driven"]) await journal.create(header(id));
    await journal.append("driven", 1, [claim("b", 60_000)]);
    for (const id of ["one", "two", "driven"]) await store.lack(id, tools);
    await store.lack("rests", { what: "sandbox", names: Array.from({ length: 5000 }, (_, index) => `tool_${index}`) });
    expect(await Promise.all(["one", "two", "driven"].map(needsOf))).toEqual([tools, tools, undefined]);
    expect((await needsOf("rests"))?.names.slice(0, 2)).toEqual(["tool_0", "tool_1"]);
    expect((await needsOf("rests"))?.names.length).toBeLessThan(100);
    await store.lack("one", { what: "model", names: ["anthropic:a\nb"] });
    expect(await counts()).toEqual({ model: 1, tools: 1, sandbox: 1 });
    await store.rest("rests", 1, NEVER);
    expect(await counts()).toEqual({ model: 1, tools: 1 });
    // A decision is no claim.
    await journal.append("two", 1, [turn("event")]);
    expect(await needsOf("two")).toEqual(tools);
    await journal.append("two", 2, [claim("a", -1)]);
    await journal.append("one", 1, [outcome]);
    expect(await counts()).toEqual({});
  });
});
