import { expect, onTestFinished, test, vi } from "vitest";
import { ExecutionLog } from "../../src/journal/execution-log.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { createMemoryJournal } from "../../src/journal/memory-journal.ts";
import type { JournalRecord } from "../../src/journal/record.ts";
import { manualClock } from "../support/clock.ts";
import { header, turn } from "./records.ts";

interface Append {
  readonly records: readonly JournalRecord[];
  readonly go: () => void;
  readonly fail: (error: Error) => void;
}

const DRIVER = { driver: "d1", leaseMs: 15_000 };

/** A log whose appends wait until they are let go; each is handed out as it begins. */
async function heldLog() {
  const store = createMemoryJournal();
  const begun: Append[] = [];
  let onBegin: (() => void) | undefined;
  const journal: Journal = {
    ...store,
    append(execution, expected, records) {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      begun.push({
        records,
        go: () => resolve(store.append(execution, expected, records)),
        fail: reject,
      });
      onBegin?.();
      return promise;
    },
  };
  const nextAppend = async (): Promise<Append> => {
    if (begun.length === 0)
      await new Promise<void>((resolve) => {
        onBegin = resolve;
      });
    return begun.shift() as Append;
  };
  const log = await ExecutionLog.create(journal, header("one"), DRIVER);
  return { log, store, nextAppend, begun };
}

const [a, b, c, d] = ["a", "b", "c", "d"].map((event) => turn(event)) as [
  JournalRecord,
  JournalRecord,
  JournalRecord,
  JournalRecord,
];

test("a log begins an execution with its header", async () => {
  const { log, store } = await heldLog();
  expect(log.execution).toBe("one");
  expect(await Array.fromAsync(store.read("one"))).toEqual([header("one")]);
});

test("an execution with an existing id is not created", async () => {
  const { store } = await heldLog();
  await expect(ExecutionLog.create(store, header("one"), DRIVER)).rejects.toMatchObject({ code: "execution_exists" });
});

test("records that are appended during an append are stored together by the next one, in order", async () => {
  const { log, store, nextAppend, begun } = await heldLog();
  const first = log.append(a);
  const underWay = await nextAppend();
  expect(underWay.records).toEqual([a]);
  const second = log.append(b);
  const third = log.append(c, d);
  expect(begun).toEqual([]);
  underWay.go();
  await first;
  const together = await nextAppend();
  expect(together.records).toEqual([b, c, d]);
  together.go();
  await Promise.all([second, third]);
  expect(await Array.fromAsync(store.read("one"))).toEqual([header("one"), a, b, c, d]);
});

test("an append resolves only when its own records are in the journal", async () => {
  const { log, store, nextAppend } = await heldLog();
  const order: string[] = [];
  const first = log.append(a).then(() => order.push("a"));
  const underWay = await nextAppend();
  const second = log
    .append(b)
    .then(async () => order.push(`b, of ${(await Array.fromAsync(store.read("one"))).length}`));
  underWay.go();
  await first;
  const next = await nextAppend();
  expect(order).toEqual(["a"]);
  next.go();
  await second;
  expect(order).toEqual(["a", "b, of 3"]);
});

test("once an append has failed, waiting and later ones fail with the same error and do not reach the store", async () => {
  const { log, store, nextAppend, begun } = await heldLog();
  const first = log.append(a);
  const underWay = await nextAppend();
  const waiting = log.append(b);
  const gone = new Error("the store is gone");
  underWay.fail(gone);
  await expect(first).rejects.toBe(gone);
  await expect(waiting).rejects.toBe(gone);
  await expect(log.append(c)).rejects.toBe(gone);
  expect(begun).toEqual([]);
  expect(await Array.fromAsync(store.read("one"))).toEqual([header("one")]);
});

test("a lease is not renewed again while the store has not answered", async () => {
  const clock = manualClock();
  const store = createMemoryJournal();
  const answers: (() => void)[] = [];
  const renew = vi.fn<Journal["renew"]>(() => new Promise((resolve) => answers.push(() => resolve(1))));
  await ExecutionLog.create({ ...store, renew }, header("one"), DRIVER);
  clock.pass(10 * DRIVER.leaseMs);
  expect(renew).toHaveBeenCalledOnce();
  answers[0]?.();
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  clock.pass(DRIVER.leaseMs / 3);
  expect(renew).toHaveBeenCalledTimes(2);
});

test("what others have appended is not read while records are written, which would seem to be another driver's", async () => {
  const { log, store, nextAppend } = await heldLog();
  const appended = log.append(a);
  const read = log.catchUp();
  const underWay = await nextAppend();
  await store.append("one", 1, [b]);
  // Long enough for a read that does not wait.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  underWay.fail(new Error("the store is gone"));
  await expect(read).rejects.toThrow("the store is gone");
  await expect(appended).rejects.toThrow("the store is gone");
});

test("each append of a driver that has lost its execution rejects with head_moved", async () => {
  const store = createMemoryJournal();
  const log = await ExecutionLog.create(store, header("one"), DRIVER);
  await store.append("one", 1, [turn("another driver's")]);
  for (const record of [a, b]) await expect(log.append(record)).rejects.toMatchObject({ code: "head_moved" });
  expect(await Array.fromAsync(store.read("one"))).toEqual([header("one"), turn("another driver's")]);
});

test("a failed append that is not awaited is no unhandled rejection", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const { log, nextAppend } = await heldLog();
  void log.append(a);
  const underWay = await nextAppend();
  void log.append(b);
  underWay.fail(new Error("the store is gone"));
  // Node reports unhandled rejections once the microtasks of a turn of its event loop have run out.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  void log.append(c);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(unhandled).toEqual([]);
});
