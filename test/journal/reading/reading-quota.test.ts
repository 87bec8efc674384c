import { setImmediate } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import { createMemoryJournal } from "../../../src/journal/memory-journal.ts";
import { readHeader, readRecords } from "../../../src/journal/reading/read-records.ts";
import { countReadings, ReadingQuota } from "../../../src/journal/reading/reading-quota.ts";
import { heldWithin } from "../../../src/base/index.ts";
import { header, turn } from "../records.ts";
import { nothingInCommon } from "../../support/nothing-in-common.ts";
import { throws } from "../../support/failing.ts";

beforeEach(nothingInCommon);

const MIB = 1024 * 1024;

/** Which of some waits are over. */
function watched() {
  const over: string[] = [];
  return {
    over,
    note: (name: string, wait: Promise<void> | undefined) =>
      void (wait ? wait.then(() => over.push(name)) : over.push(name)),
  };
}

test("readings hold a quarter of what a runtime may hold, tenants wait in turn, and what is held counts in the runtime", async () => {
  const held = heldWithin(400 * MIB);
  const quota = new ReadingQuota(held);
  const { over, note } = watched();
  const [a, a2, a3, b, c] = ["a", "a", "a", "b", "c"].map((tenant) => quota.open(tenant));
  note("a", a?.hold(60 * MIB));
  note("a2", a2?.hold(30 * MIB));
  note("a3", a3?.hold(30 * MIB));
  note("b", b?.hold(30 * MIB));
  note("c", c?.hold(30 * MIB));
  await setImmediate();
  // A tenant has at most half of the quota beyond its first reading, and there is no more room for c.
  expect(over).toEqual(["a", "b"]);
  expect(held.held).toBe(90 * MIB);
  a?.end();
  await setImmediate();
  expect(over).toEqual(["a", "b", "a2", "c"]);
  for (const reading of [a2, a3, b, c]) reading?.end();
  await setImmediate();
  a3?.end();
  expect([held.held, quota.held]).toEqual([0, 0]);
});

test("what is larger than the quota is read alone, nothing passes it for ever, and a reading that waits holds nothing", async () => {
  const held = heldWithin(40 * MIB);
  const quota = new ReadingQuota(held);
  const { over, note } = watched();
  const [a, b, c] = ["a", "b", "c"].map((tenant) => quota.open(tenant));
  note("a", a?.hold(MIB));
  note("b", b?.hold(MIB));
  note("b large", b?.hold(500 * MIB));
  note("c", c?.hold(MIB));
  expect(over).toEqual(["a", "b"]);
  expect(quota.held).toBe(MIB);
  a?.end();
  await setImmediate();
  expect(over).toEqual(["a", "b", "b large"]);
  expect(quota.held).toBe(500 * MIB);
  void b?.hold(0);
  await setImmediate();
  expect(over).toEqual(["a", "b", "b large", "c"]);
});

test("one reading runs at once for each 64 MiB, and beyond these one of a tenant that has none", async () => {
  const quota = new ReadingQuota(heldWithin(3 * 64 * MIB));
  const { over, note } = watched();
  const readings = ["a", "a", "a", "b", "b"].map((tenant) => quota.open(tenant));
  for (const [index, reading] of readings.entries()) note(`${index}`, reading.begin());
  await setImmediate();
  expect(over).toEqual(["0", "1", "2", "3"]);
  readings[0]?.end();
  await setImmediate();
  expect(over).toEqual(["0", "1", "2", "3"]);
  readings[1]?.end();
  await setImmediate();
  expect(over).toEqual(["0", "1", "2", "3", "4"]);
});

test("a reader that is left gives back what it held, and one that fails too", async () => {
  const held = heldWithin(MIB);
  const memory = createMemoryJournal();
  // A store that does not say what it holds.
  const journal = {
    ...memory,
    read: (execution: string, { from = 0 }: { readonly from?: number } = {}) => memory.read(execution, { from }),
  };
  countReadings(held, journal);
  await journal.create(header("one"));
  await journal.append("one", 1, [turn("x".repeat(1000)), turn("y".repeat(1000))]);
  for await (const record of readRecords(journal, "one", { tenant: "a", from: 1 })) {
    expect(record).toMatchObject({ type: "turn" });
    expect(held.held).toBeGreaterThanOrEqual(1000);
    expect(held.held).toBeLessThan(1500);
    break;
  }
  expect(held.held).toBe(0);
  await expect(readHeader(journal, "none", { tenant: "a" })).rejects.toMatchObject({ code: "execution_unknown" });
  const fails = readRecords(journal, "one", { tenant: "a" }).each(throws("no"));
  await expect(fails).rejects.toThrow("no");
  expect(held.held).toBe(0);
});

test("a reading asks for no more records than it was told to", async () => {
  const journal = createMemoryJournal();
  await journal.create(header("one"));
  await journal.append("one", 1, [turn("a"), turn("b"), turn("c")]);
  const lengths: number[] = [];
  const some = await Array.fromAsync(
    readRecords(journal, "one", { tenant: "a", from: 1, count: 2, onLength: (length) => lengths.push(length) }),
  );
  expect(some).toEqual([turn("a"), turn("b")]);
  expect(lengths).toEqual([5, 5]);
  expect(await readHeader(journal, "one", { tenant: "a" })).toEqual(header("one"));
});
