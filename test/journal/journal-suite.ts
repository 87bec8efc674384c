import { expect, test } from "vitest";
import type { Appended, ExecutionSummary, Journal, ListOptions, JournalRecord } from "../../src/journal/index.ts";
import { header, outcome, RECORDS, turn } from "./records.ts";
import { testOfAll } from "../support/all-tests.ts";
import { codeOf, failing } from "../support/failing.ts";

export async function listed(journal: Journal, options?: ListOptions): Promise<ExecutionSummary[]> {
  return Array.fromAsync(journal.list(options));
}

/** What every store of executions promises. Each test asks for an empty one. */
export function journalSuite(makeJournal: () => Journal | Promise<Journal>): void {
  test("an execution begins with its header and holds what was appended, in order", async () => {
    const journal = await makeJournal();
    expect(await journal.create(header("one"))).toBe(1);
    expect(await journal.append("one", 1, [])).toBe(1);
    expect(await journal.append("one", 1, RECORDS.slice(0, 2))).toBe(3);
    expect(await journal.append("one", 3, RECORDS.slice(2))).toBe(RECORDS.length + 1);
    expect(await journal.append("one", RECORDS.length + 1, [outcome])).toBe(RECORDS.length + 2);
    expect(await Array.fromAsync(journal.read("one"))).toEqual([header("one"), ...RECORDS, outcome]);
  });

  test("an execution cannot be created twice, and the second attempt changes nothing", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    await journal.append("one", 1, [turn("event")]);
    expect(await codeOf(journal.create(header("one", { tenant: "other" })))).toBe("execution_exists");
    expect(await Array.fromAsync(journal.read("one"))).toEqual([header("one"), turn("event")]);
  });

  test.each([0, 1, 3, -1, Number.NaN])(
    "an append at %s, which is not the head, is refused whole, and one at the head succeeds",
    async (expected) => {
      const journal = await makeJournal();
      await journal.create(header("one"));
      await journal.append("one", 1, [turn("first")]);
      await expect(journal.append("one", expected, [turn("lost"), outcome])).rejects.toMatchObject(
        failing("head_moved", new RegExp(`"one" .*2 .*${expected}`)),
      );
      expect(await Array.fromAsync(journal.read("one"))).toEqual([header("one"), turn("first")]);
      expect(await listed(journal)).toMatchObject([{ records: 2, ended: false }]);
      expect(await journal.append("one", 2, [turn("second")])).toBe(3);
    },
  );

  test("if two drivers append at the same head, one succeeds and the other is refused", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    const settled = await Promise.allSettled([
      journal.append("one", 1, [turn("a"), turn("b")]),
      journal.append("one", 1, [turn("c"), turn("d")]),
    ]);
    expect(settled.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const winner = settled[0]?.status === "fulfilled" ? [turn("a"), turn("b")] : [turn("c"), turn("d")];
    expect(await Array.fromAsync(journal.read("one"))).toEqual([header("one"), ...winner]);
  });

  test("records are appended all or none", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    const broken = null as unknown as JournalRecord;
    await expect(journal.append("one", 1, [turn("event"), broken])).rejects.toThrow();
    expect(await Array.fromAsync(journal.read("one"))).toEqual([header("one")]);
    expect(await journal.append("one", 1, [turn("event")])).toBe(2);
  });

  test("an unknown execution can be neither read nor appended to", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    await expect(Array.fromAsync(journal.read("two"))).rejects.toMatchObject({ code: "execution_unknown" });
    await expect(journal.append("two", 1, [outcome])).rejects.toMatchObject({ code: "execution_unknown" });
    await expect(Array.fromAsync(journal.read("__proto__"))).rejects.toMatchObject({ code: "execution_unknown" });
  });

  test("records that were read do not change with later appends, and changing them does not change the journal", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    const read: JournalRecord[] = await Array.fromAsync(journal.read("one"));
    await journal.append("one", 1, [outcome]);
    expect(read).toEqual([header("one")]);
    read.push(outcome, outcome);
    expect(await Array.fromAsync(journal.read("one"))).toHaveLength(2);
  });

  test("executions are listed the latest first, each with its length and whether it has ended", async () => {
    const journal = await makeJournal();
    expect(await listed(journal)).toEqual([]);
    await journal.create(header("one", { startedAt: 1, tenant: "a" }));
    await journal.create(header("two", { startedAt: 2, tenant: "b" }));
    await journal.create(header("three", { startedAt: 3 }));
    await journal.append("one", 1, [turn("event")]);
    await journal.append("two", 1, [turn("event"), outcome]);
    expect(await listed(journal)).toMatchObject([
      { execution: "three", kind: "program", tenant: "default", startedAt: 3, records: 1, ended: false },
      { execution: "two", kind: "program", tenant: "b", startedAt: 2, records: 3, ended: true },
      { execution: "one", kind: "program", tenant: "a", startedAt: 1, records: 2, ended: false },
    ]);
  });

  test("a list can be limited to open or ended executions, to a tenant, and to a time", async () => {
    const journal = await makeJournal();
    for (const [execution, tenant, startedAt] of [
      ["one", "a", 1],
      ["two", "b", 2],
      ["three", "a", 3],
    ] as const)
      await journal.create(header(execution, { tenant, startedAt }));
    await journal.append("one", 1, [outcome]);
    const ids = async (options: ListOptions) => (await listed(journal, options)).map(({ execution }) => execution);
    expect(await ids({ open: true })).toEqual(["three", "two"]);
    expect(await ids({ open: false })).toEqual(["one"]);
    expect(await ids({ tenant: "a" })).toEqual(["three", "one"]);
    expect(await ids({ before: 3 })).toEqual(["two", "one"]);
    expect(await ids({ open: true, tenant: "a", before: 3 })).toEqual([]);
  });

  testOfAll("more executions than one page are all listed once", async () => {
    const journal = await makeJournal();
    const ids = Array.from({ length: 600 }, (_, index) => `e${index}`);
    for (const execution of ids) await journal.create(header(execution));
    expect((await listed(journal)).map(({ execution }) => execution)).toEqual(ids.toReversed());
  });

  test("executions are listed by their starts, whichever was created first, and those of one start the last created first", async () => {
    const journal = await makeJournal();
    const starts = Array.from({ length: 600 }, (_, index) => (index * 7919) % 200);
    for (const [index, startedAt] of starts.entries()) await journal.create(header(`e${index}`, { startedAt }));
    const expected = [...starts.keys()].toSorted((a, b) => (starts[b] ?? 0) - (starts[a] ?? 0) || b - a);
    const ids = async (options: ListOptions) => (await listed(journal, options)).map(({ execution }) => execution);
    expect(await ids({})).toEqual(expected.map((index) => `e${index}`));
    expect(await ids({ open: true, tenant: "default", before: 100 })).toEqual(
      expected.filter((index) => (starts[index] ?? 0) < 100).map((index) => `e${index}`),
    );
  });

  test("reading begins at the record that is asked for", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    await journal.append("one", 1, RECORDS);
    expect(await Array.fromAsync(journal.read("one", { from: 3 }))).toEqual(RECORDS.slice(2));
    expect(await Array.fromAsync(journal.read("one", { from: RECORDS.length + 1 }))).toEqual([]);
  });

  test("many records are read in order", async () => {
    const journal = await makeJournal();
    const turns = Array.from({ length: 1000 }, (_, index) => turn(`event ${index}`));
    await journal.create(header("one"));
    await journal.append("one", 1, turns);
    expect(await Array.fromAsync(journal.read("one"))).toEqual([header("one"), ...turns]);
  });

  test("texts of any size and content are read unchanged, also those that two records share", async () => {
    const journal = await makeJournal();
    const large = "ü😀\u0000\n".repeat(50_000);
    const records = [
      turn(`{"kind":"answer","id":1}\n${large}`, large),
      turn(`{"kind":"answer","id":2}\n${large}`),
      turn(`\ud800${large}`),
      turn(JSON.stringify({ head: "", sha256: "ab" }).repeat(4000)),
    ];
    await journal.create(header("one", { source: large }));
    await journal.append("one", 1, records);
    expect(await Array.fromAsync(journal.read("one"))).toEqual([header("one", { source: large }), ...records]);
  });

  test("the lease is that of the driver that created or last claimed an execution, and only that driver extends it", async () => {
    const journal = await makeJournal();
    const leases = async () => (await listed(journal)).map(({ lease }) => lease);
    await journal.create(header("one"), { driver: "d1", until: 1100 });
    expect(await leases()).toEqual([{ driver: "d1", until: 1100 }]);
    expect(await journal.renew("one", { driver: "d1", until: 5000 })).toBe(1);
    expect(await leases()).toEqual([{ driver: "d1", until: 5000 }]);
    await journal.append("one", 1, [{ type: "claim", driver: "d2", leaseMs: 100, at: 6000 }, turn("event")]);
    expect(await leases()).toEqual([{ driver: "d2", until: 6100 }]);
    await expect(journal.renew("one", { driver: "d1", until: 9000 })).rejects.toMatchObject(
      failing("head_moved", /"d2".*"d1"/),
    );
    expect(await leases()).toEqual([{ driver: "d2", until: 6100 }]);
    expect(await journal.renew("one", { driver: "d2", until: 0 })).toBe(3);
    expect(await leases()).toEqual([{ driver: "d2", until: 0 }]);
    expect(await codeOf(journal.renew("two", { driver: "d1", until: 9000 }))).toBe("execution_unknown");
  });

  test("a listener is told of each creation and append with its head, of no refused one, and of nothing once it has gone", async () => {
    const journal = await makeJournal();
    const told: Appended[] = [];
    await journal.create(header("before"));
    const listening = journal.onAppend?.((appended) => told.push(appended));
    // Whatever else a store tells, it tells of these, in their order.
    const heads = () => told.flatMap(({ execution, head }) => (execution === "one" ? [head] : []));
    await journal.create(header("one"));
    await journal.append("one", 1, [turn("a"), turn("b")]);
    await journal.append("one", 3, []);
    await expect(journal.append("one", 1, [turn("lost")])).rejects.toMatchObject({ code: "head_moved" });
    await journal.append("one", 3, [outcome]);
    await expect.poll(() => heads().at(-1)).toBe(4);
    expect(heads().filter((head) => head !== 1 && head !== 3 && head !== 4)).toEqual([]);
    listening?.[Symbol.dispose]();
    const count = told.length;
    await journal.append("before", 1, [turn("a")]);
    expect(told).toHaveLength(count);
  });

  test("a listener is told that a driver has given an execution back, and of no renewal", async () => {
    const journal = await makeJournal();
    const told: Appended[] = [];
    using _ = journal.onAppend?.((appended) => told.push(appended));
    const lefts = () => told.filter(({ left }) => left === true);
    await journal.create(header("one"), { driver: "d", until: Date.now() + 60_000 });
    await journal.renew("one", { driver: "d", until: Date.now() + 90_000 });
    expect(lefts()).toEqual([]);
    await journal.renew("one", { driver: "d", until: 0 });
    await expect.poll(lefts).toMatchObject([{ execution: "one", head: 1 }]);
  });
}
