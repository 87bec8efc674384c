import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { z } from "zod";
import type { CallEvent, EventFields } from "../../../src/gate/call-event.ts";
import { ItemsDigest } from "../../../src/gate/streams/past-items.ts";
import type { Batch } from "../../../src/gate/streams/stream-reader.ts";
import { UnreadAnswers } from "../../../src/gate/run/unread-answers.ts";
import { content } from "../../../src/tools/content.ts";
import type { Schema } from "../../../src/tools/schema.ts";
import type { CallContext, Tool } from "../../../src/tools/tool.ts";
import { idle, makeTool, openSession, type SessionParts } from "../open-session.ts";
import { manualClock } from "../../support/clock.ts";
import { deaf, type Items, read, streamTool } from "./read-stream.ts";

const numbers = async function* (count: number) {
  for (let number = 0; number < count; number += 1) yield number;
};

test("the items of a handler arrive in their order, in batches of at most 500, and the answer counts them", async () => {
  const { answered, batches, items, records, session } = read(streamTool(() => numbers(2500)));
  expect(await answered).toMatchObject({ ok: true, text: "null", items: 2500 });
  expect(items()).toEqual(Array.from({ length: 2500 }, (_, number) => number));
  expect(Math.max(...batches.map(({ count }) => count))).toBe(500);
  for (const { body, bytes: told } of batches) expect(told).toBe(Buffer.byteLength(body) - 1);
  expect(records.at(-1)).toMatchObject({ type: "answered", ok: true, items: 2500, shape: "stream of 2500" });
  expect(session.share.held).toBe(0);
});

test("a batch has at most 120 KiB, but for an item that has more", async () => {
  const sizes = [80_000, 80_000, 10, 150_000, 10, 10];
  const { answered, batches } = read(streamTool(() => sizes.map((size) => "x".repeat(size))));
  await answered;
  expect(batches.map(({ count }) => count)).toEqual([1, 2, 1, 2]);
});

test("the handler is asked for a few items until the reader begins, and then for two batches that it has not begun", async () => {
  let asked = 0;
  const handler = async function* () {
    for (;;) {
      asked += 1;
      yield asked;
    }
  };
  const { session, untilBatch, batches } = read(
    streamTool(() => handler()),
    { reads: () => false },
  );
  await untilBatch();
  await idle();
  expect(asked).toBe(16);
  // A busy host may send a batch before it is full.
  for (const allowed of [3, 4]) {
    session.more("1");
    await expect.poll(() => batches.length).toBe(allowed);
    await idle();
    expect(batches).toHaveLength(allowed);
    // A batch that was sent early may leave one item behind that the handler was asked for.
    const given = batches.reduce((sum, { count }) => sum + count, 0);
    expect([given, given + 1]).toContain(asked);
  }
  session.close();
});

test("batches that are sent while the program reads others count until each is read", async () => {
  const unread = new UnreadAnswers();
  const { session, call } = openSession({ tools: [streamTool(() => numbers(2000))], unread });
  const batches: Batch[] = [];
  const answered = call(
    {},
    {
      reader: { ...deaf, take: (batch) => void batches.push(batch) },
    },
  );
  await expect.poll(() => batches.length).toBe(1);
  session.more("1");
  await expect.poll(() => batches.length).toBe(3);
  expect(unread.bytes).toBe(batches.reduce((sum, { heldBytes }) => sum + heldBytes, 0));
  const [first, ...rest] = batches;
  session.noteRead("1", first?.heldBytes);
  expect(unread.bytes).toBe(rest.reduce((sum, { heldBytes }) => sum + heldBytes, 0));
  session.close();
  await answered;
});

const ONE = z.object({ id: z.number() });
const FAULTS: readonly [string, string, Partial<Tool>, () => Items, Partial<SessionParts["limits"]>, string][] = [
  [
    "an item that breaks the output",
    "output_invalid",
    { outputSchema: ONE },
    () => [{ id: 1 }, { id: "2" }],
    {},
    "Item 1 of",
  ],
  [
    "an item that is too large",
    "result_too_large",
    {},
    () => ["a", "x".repeat(200)],
    { resultBytes: 100 },
    "Item 1 of",
  ],
  ["too many values in an item", "result_too_large", {}, () => [[1], [1, 2, 3]], { resultValues: 3 }, "Item 1 of"],
  ["a value that is returned, not yielded", "output_invalid", {}, returnsAfterOne, {}, "cannot be passed on"],
];

// oxlint-disable-next-line no-unreachable -- the return is what is tested
async function* returnsAfterOne() {
  yield 1;
  return [1, 2];
}

test.each(FAULTS)("%s ends the stream with %s, after the items before it", async (...fault) => {
  const [, code, changes, items, limits, message] = fault;
  const { answered, items: given, session } = read(streamTool(items, changes), { limits: limits ?? {} });
  const answer = await answered;
  expect(answer).toMatchObject({ ok: false, code, message: expect.stringContaining(message) as string });
  expect(given()).toHaveLength(1);
  // The message is held like any other answer.
  expect(session.share.held).toBe(answer?.ok === false ? Buffer.byteLength(answer.message) : 0);
});

test.each<[string, () => unknown, Schema | undefined, string]>([
  [
    "an item of another kind where the output is that of a list",
    () => [1],
    z.array(z.number()),
    "Item 0 of the stream of t (counted from 0) does not match its declared output: Invalid input: expected array, received number. Mend the handler or `outputSchema`, which is the schema of one item.",
  ],
  ["an item with a fault", () => ["a", 1], z.string(), "Mend the handler or `outputSchema`"],
  [
    "an item that has more than a value",
    () => [content({ value: 1 })],
    undefined,
    "made by content(): yield its value alone.",
  ],
  [
    "a result that has more than a value",
    () => content({ value: [1] }),
    undefined,
    "returned what content() makes: make it an async generator",
  ],
  [
    "an item that is undefined",
    () => [undefined],
    undefined,
    "Item 0 of the stream of t (counted from 0) is undefined: yield null",
  ],
  [
    "a chunk of a file",
    () => [Buffer.from("a")],
    undefined,
    "Item 0 of the stream of t (counted from 0) is a chunk of bytes: decode the bytes",
  ],
  ["a file in place of items", () => Buffer.from("ab"), undefined, "returned bytes: make it an async generator"],
  ["a text in place of items", () => "abc", undefined, 'returned "abc": make it an async generator'],
])("the operator is told of %s", async (_, handler, output, sentence) => {
  const { events, answered } = read(streamTool(handler as () => Items, output && { outputSchema: output }));
  expect((await answered)?.ok).toBe(false);
  const [error] = events.flatMap((event) => (event.type === "call_ended" ? [event.error] : []));
  expect(String(error)).toContain(sentence);
});

test("a batch that is asked for before the next driver has opened the stream again is given", async () => {
  const opened = Promise.withResolvers<void>();
  const handler = async (_: unknown, { previous: after }: CallContext) => {
    await opened.promise;
    return [Number(after?.items) + 1];
  };
  const { session, call } = openSession({ tools: [streamTool(handler)] });
  const taken: string[] = [];
  // A program that has not begun the only batch that it was sent.
  const streamed = { items: 1, bytes: 3, batches: 1, asked: 0, last: "1" };
  const answered = call({}, { reader: { ...deaf, take: ({ body }) => taken.push(body) } }, { streamed });
  await idle();
  session.more("1");
  opened.resolve();
  expect(await answered).toMatchObject({ ok: true, items: 2 });
  expect(taken).toEqual(["[2]"]);
});

test("a call that is no stream is not ended as one", async () => {
  const { session, call } = openSession({ tools: [makeTool({ execute: () => idle().then(() => "done") })] });
  const answered = call();
  await session.stopReading("1");
  expect(await answered).toMatchObject({ ok: true, text: '"done"' });
});

test("a caller that reads no streams gets no array that is larger than a result may be, and the generator ends", async () => {
  let isEnded = false;
  const handler = async function* () {
    try {
      for (;;) yield "x".repeat(100);
    } finally {
      isEnded = true;
    }
  };
  const { call, session } = openSession({ tools: [streamTool(() => handler())], limits: { resultBytes: 1000 } });
  expect(await call()).toMatchObject({ ok: false, code: "result_too_large" });
  expect(isEnded).toBe(true);
  session.close();
  expect(session.share.held).toBe(0);
});

// ---- what listeners are told -------------------------------------------------------------------------------------

const told = (events: readonly EventFields<CallEvent>[]) =>
  events.map((event) => [event.type, ...("items" in event ? [event.items, event.bytes] : [])]);

test("listeners are told of the first batch and of all items at the end, however many batches there are", async () => {
  manualClock();
  const { answered, batches, events } = read(streamTool(() => numbers(30_000)));
  await answered;
  expect(batches.length).toBeGreaterThan(20);
  const { bytes } = (await answered) as { readonly bytes: number };
  expect(told(events)).toEqual([
    ["call_started"],
    ["call_streamed", batches[0]?.count, batches[0]?.bytes],
    ["call_streamed", 30_000, bytes],
    ["call_ended", 30_000, bytes],
  ]);
});

test("a stream that pauses after a burst is told of in the pause", async () => {
  const hold = Promise.withResolvers<void>();
  const run = read(
    streamTool(async function* () {
      for (let number = 0; number < 3000; number += 1) yield number;
      await hold.promise;
    }),
  );
  await expect.poll(() => told(run.events).at(-1)).toEqual(["call_streamed", 3000, expect.any(Number)]);
  const before = told(run.events);
  hold.resolve();
  await run.answered;
  // At its end nothing of the stream is news.
  expect(told(run.events).slice(before.length)).toEqual([["call_ended", 3000, before.at(-1)?.[2]]]);
});

test("a stream that fails or is given up has the items that were given in its line, its last event and its record", async () => {
  const failing = read(
    streamTool(function* () {
      yield* [1, 2];
      throw new Error("It is out of rows.");
    }),
  );
  await failing.answered;
  expect(told(failing.events).at(-1)).toEqual(["call_ended", 2, 4]);
  expect(failing.records.at(-1)).toMatchObject({ type: "answered", ok: false, items: 2, bytes: 4 });

  const open = read(
    streamTool(async function* () {
      yield* [1, 2, 3];
      await new Promise(() => {});
    }),
  );
  await open.untilBatch();
  open.session.close();
  await open.session.ended;
  expect(open.session.ledger.lines).toMatchObject([{ outcome: { type: "aborted" }, items: 3, bytes: 6 }]);
  expect([open.session.usage.resultBytes, open.session.ledger.streamedBytes]).toEqual([0, 6]);
  expect(told(open.events).slice(-2)).toEqual([
    ["call_streamed", 3, 6],
    ["call_ended", 3, 6],
  ]);
});

test("rows of a database that ends with null are read to their end", async () => {
  using database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1), (2), (3)");
  const { answered, items } = read(streamTool(() => database.prepare("SELECT id FROM t").iterate()));
  expect(await answered).toMatchObject({ ok: true, items: 3 });
  expect(items()).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
});

test("a handler that does not look where to go on gives its items again, and they are compared and left out", async () => {
  const digest = new ItemsDigest();
  digest.add("1,2");
  const streamed = { items: 2, bytes: 4, batches: 1, asked: 1, last: "2", digest: digest.hex };
  const goOn = async (items: readonly number[]) => {
    const { call } = openSession({ tools: [streamTool(() => items)] });
    const taken: string[] = [];
    const answer = await call({}, { reader: { ...deaf, take: ({ body }) => taken.push(body) } }, { streamed });
    return { answer, taken };
  };
  expect((await goOn([1, 2, 3])).taken).toEqual(["[3]"]);
  expect((await goOn([2, 1, 3])).answer).toMatchObject({ ok: false, code: "stream_changed" });
  expect((await goOn([1])).answer).toMatchObject({ ok: false, code: "stream_changed" });
});

test("a stream that waits for the end of another one of its program is refused, until the program has left that one", async () => {
  const { session, call } = openSession({ tools: [streamTool(() => numbers(5000), { concurrency: 1 })] });
  const begin = (callId: string) => call({}, { callId, reader: deaf });
  void begin("1");
  expect(await begin("2")).toMatchObject({
    ok: false,
    code: "budget_spent",
    message: expect.stringContaining("t may have 1 call at once, and as many of its streams are open") as string,
  });
  session.noteLeft("1");
  const third = begin("3");
  await session.stopReading("1");
  session.close();
  // It was let in.
  expect(await third).toBeUndefined();
});
