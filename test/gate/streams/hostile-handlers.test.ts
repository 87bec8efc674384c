/* oxlint-disable unicorn/no-thenable -- what handlers give is hostile here */
import { expect, test } from "vitest";
import { z } from "zod";
import { UnreadAnswers } from "../../../src/gate/run/unread-answers.ts";
import type { Schema } from "../../../src/tools/schema.ts";
import type { CallContext, Tool } from "../../../src/tools/tool.ts";
import { heldWithin } from "../../../src/base/index.ts";
import { idle } from "../open-session.ts";
import { manualClock } from "../../support/clock.ts";
import { type Items, read, streamTool } from "./read-stream.ts";

const MIB = 1024 * 1024;
const SECRET = "a secret of the host";

/** Reads a stream, and expects that nothing of it is held afterwards. */
async function readOf(handler: (input: unknown, context: CallContext) => unknown, changes: Partial<Tool> = {}) {
  const unread = new UnreadAnswers();
  const share = heldWithin().share("acme", 64 * MIB);
  const limits = { resultBytes: MIB, totalBytes: 64 * MIB };
  const tool = streamTool(handler as () => Items, changes);
  const { answered, items, session } = read(tool, { unread, share, limits });
  const answer = await answered;
  share.giveBack(session.noteRead("1"));
  expect(JSON.stringify(answer)).not.toContain(SECRET);
  expect({ held: share.held, unread: unread.bytes }).toEqual({ held: 0, unread: 0 });
  session.close();
  return { answer, items: items() };
}

const explode = (): never => {
  throw new Error(SECRET);
};
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const iteratorOf = (next: () => unknown) => ({ [Symbol.asyncIterator]: () => ({ next }) });
/** An object whose field is a getter, which throws by default. */
const getting = (name: PropertyKey, get: () => unknown = explode, more: object = {}) =>
  Object.defineProperty({ ...more }, name, { get, enumerable: true });

/** What a handler returns that fails its call before the first item. */
const NO_STREAMS: Readonly<Record<string, () => unknown>> = {
  "a revoked proxy": revoked,
  "an iterable whose Symbol.asyncIterator throws when it is read": () => getting(Symbol.asyncIterator),
  "an iterable whose Symbol.asyncIterator throws": () => ({ [Symbol.asyncIterator]: explode }),
  "an iterable that returns a number for an iterator": () => ({ [Symbol.asyncIterator]: () => 5 }),
  "an iterable that returns nothing for an iterator": () => ({ [Symbol.iterator]: () => undefined }),
  "an iterator without next": () => ({ [Symbol.asyncIterator]: () => ({}) }),
  "an iterator whose next throws": () => iteratorOf(explode),
  "an iterator whose next rejects": () => iteratorOf(async () => explode()),
  "an iterator whose next gives nothing": () => iteratorOf(() => undefined),
  "an iterator whose next gives a promise of a text": () => iteratorOf(async () => "done"),
  "an iterator whose next gives a thenable that throws": () => iteratorOf(() => ({ then: explode })),
  "an iterator whose next gives what throws when its then is read": () => iteratorOf(() => getting("then")),
  "an iterator whose step throws when it is read": () => iteratorOf(() => getting("done")),
  "a promise of a text": async () => "abc",
};

test.each(Object.entries(NO_STREAMS))("%s fails the call, and nothing else", async (_, handler) => {
  const { answer, items } = await readOf(handler);
  expect(answer).toMatchObject({ ok: false, code: expect.stringMatching(/^(?:handler_failed|output_invalid)$/) });
  expect(items).toEqual([]);
});

/** Items that end a stream; the two before them arrive. */
const BAD_ITEMS: Readonly<Record<string, () => unknown>> = {
  "a revoked proxy": revoked,
  "a getter that throws": () => getting("row"),
  "a `then` that throws when it is read": () => getting("then"),
  "a thenable that throws": () => ({ then: explode }),
  "a promise that rejects": () => Promise.reject(new Error(SECRET)),
  "a promise that never settles": () => new Promise(() => {}),
  "a toJSON that throws": () => ({ toJSON: explode }),
  "a ring": () => {
    const ring: Record<string, unknown> = {};
    ring.self = ring;
    return ring;
  },
  "a function": () => explode,
  "a generator that never ends": () =>
    (function* () {
      for (;;) yield 1;
    })(),
};

test.each(Object.entries(BAD_ITEMS))(
  "an item that is %s ends the stream and its generator, after the items before it",
  async (_, item) => {
    const ended: string[] = [];
    const handler = function* (__: unknown, { signal }: CallContext) {
      try {
        yield 0;
        yield 1;
        yield item();
        yield 2;
      } finally {
        ended.push(`aborted: ${signal.aborted}`);
      }
    };
    const { answer, items } = await readOf(handler);
    expect(answer).toMatchObject({ ok: false, code: "output_invalid" });
    expect(items).toEqual([0, 1]);
    expect(ended).toEqual(["aborted: true"]);
  },
);

const throwing: Schema = { "~standard": { ...z.any()["~standard"], validate: explode } };
const rejecting: Schema = { "~standard": { ...z.any()["~standard"], validate: async () => explode() } };

test.each([
  ["throws", throwing],
  ["rejects", rejecting],
])("a schema that %s ends the stream and its generator", async (_, output) => {
  let isEnded = false;
  const handler = async function* () {
    try {
      for (;;) yield 1;
    } finally {
      isEnded = true;
    }
  };
  const { answer } = await readOf(handler, { outputSchema: output });
  expect(answer).toMatchObject({
    ok: false,
    code: "output_invalid",
    message: expect.stringContaining("Item 0") as string,
  });
  expect(isEnded).toBe(true);
});

test("ten thousand items that are null arrive", async () => {
  const { answer, items } = await readOf(() => Array.from({ length: 10_000 }, () => null));
  expect(answer).toMatchObject({ ok: true, items: 10_000 });
  expect(new Set(items)).toEqual(new Set([null]));
});

test("a promise that answers twice is heard once", async () => {
  let asked = 0;
  const next = () => {
    asked += 1;
    const step = Promise.resolve({ done: asked > 3, value: asked > 3 ? undefined : asked });
    // oxlint-disable-next-line typescript/unbound-method -- it is applied to the promise
    const { then } = step;
    // What `await` does not ask for, and other readers do.
    step.then = ((read: (step: object) => void, failed: () => void) => {
      read({ done: false, value: "first" });
      read({ done: false, value: "second" });
      return Reflect.apply(then, step, [read, failed]) as unknown;
    }) as typeof then;
    return step;
  };
  const { answer, items } = await readOf(() => iteratorOf(next));
  expect(answer).toMatchObject({ ok: true, items: 3 });
  expect(items).toEqual([1, 2, 3]);
});

/** Iterators that end badly. Their readers leave after the first item. */
const BAD_ENDS: Readonly<Record<string, () => unknown>> = {
  "throws in return": explode,
  "rejects in return": async () => explode(),
  "never answers return": () => new Promise(() => {}),
  "gives nothing from return": () => undefined,
  "gives a thenable that throws from return": () => ({ then: explode }),
  "goes on after return": () => ({ done: false, value: 2 }),
};

test.each([...Object.entries(BAD_ENDS), ["has no return", undefined] as const])(
  "an iterator that %s is left like any other",
  async (_, end) => {
    let asked = 0;
    const next = async () => {
      asked += 1;
      await idle();
      return { done: false, value: "x".repeat(300_000) };
    };
    const unread = new UnreadAnswers();
    const share = heldWithin().share("acme", 64 * MIB);
    const items = { [Symbol.asyncIterator]: () => ({ next, ...(end && { return: end }) }) };
    const { session, untilBatch, records, batches } = read(
      streamTool(() => items as Items),
      {
        unread,
        share,
        reads: (count) => count < 2,
      },
    );
    await untilBatch();
    await untilBatch();
    await session.stopReading("1");
    const before = asked;
    for (let turn = 0; turn < 5; turn += 1) await idle();
    expect(asked).toBe(before);
    expect(batches).toHaveLength(2);
    expect(records.at(-1)).toMatchObject({ type: "answered", ok: true, items: 2 });
    expect({ held: share.held, unread: unread.bytes }).toEqual({ held: 0, unread: 0 });
  },
);

test("a `return` that throws when it is read is left like any other", async () => {
  const iterator = getting("return", explode, { next: () => ({ done: false, value: explode }) });
  const { answer } = await readOf(() => ({ [Symbol.iterator]: () => iterator }));
  expect(answer).toMatchObject({ ok: false, code: "output_invalid" });
});

/** Where the code of a handler runs, and may end its own call: by its host's signal, or by closing what it runs in. */
const OWN_END: Readonly<Record<string, (end: () => void) => unknown>> = {
  "it makes its iterator": (end) => ({ [Symbol.iterator]: () => (end(), [1, 2, 3].values()) }),
  "it gives an item": (end) => ({ [Symbol.iterator]: () => ({ next: () => (end(), { done: false, value: 1 }) }) }),
  "its step is read": (end) => ({
    [Symbol.iterator]: () => ({ next: () => getting("done", () => (end(), false), { value: 1 }) }),
  }),
  "it gives the promise of an item": (end) => iteratorOf(() => (end(), Promise.resolve({ done: false, value: 1 }))),
  "it gives the promise of an error": (end) => iteratorOf(() => (end(), Promise.reject(new Error(SECRET)))),
  "its item is read": (end) => [getting("row", () => (end(), 1))],
  "it is done": (end) => iteratorOf(() => (end(), { done: true, value: undefined })),
};

test.each(
  Object.entries(OWN_END).flatMap(([where, items]) =>
    (["close", "suspend", "stopReading"] as const).map((how) => [where, how, items] as const),
  ),
)("a handler that ends its own call where %s, by %s, gives nothing more", async (_, how, items) => {
  const unread = new UnreadAnswers();
  const share = heldWithin().share("acme", 64 * MIB);
  let asked = 0;
  const end = () => {
    asked += 1;
    void opened.session[how]("1");
  };
  const opened = read(
    streamTool(async () => {
      await idle();
      return items(end) as Items;
    }),
    { unread, share },
  );
  expect(await opened.answered).toBeUndefined();
  for (let turn = 0; turn < 5; turn += 1) await idle();
  expect(opened.batches).toEqual([]);
  expect(asked).toBeLessThanOrEqual(2);
  expect({ held: share.held, unread: unread.bytes }).toEqual({ held: 0, unread: 0 });
});

test("a handler whose time for an approval is counted is not silent meanwhile", async () => {
  const clock = manualClock();
  const handler = async function* (_: unknown, context: CallContext) {
    const { session } = opened;
    // As an agent does that runs in a handler, and waits for a decision.
    const endBelow = session.beginBelow("1", { waitsForApproval: true });
    await clock.advance(400);
    endBelow();
    yield context.signal.aborted;
  };
  const opened = read(streamTool(handler, { timeoutMs: 150 }));
  expect(await opened.answered).toMatchObject({ ok: true, items: 1 });
  expect(opened.items()).toEqual([false]);
});

test.each([
  ["an endless list of numbers that come at once", endlessNumbers],
  ["an endless async list of nothing", endlessNothing],
])("the host goes on meanwhile: %s", async (_, items) => {
  const { answered, session } = read(streamTool(() => items() as Items));
  // A handler that keeps the thread lets none of these turns begin.
  for (let turn = 0; turn < 20; turn += 1) await idle();
  session.close();
  await answered;
});

function* endlessNumbers() {
  for (let number = 0; ; number += 1) yield number;
}

async function* endlessNothing() {
  for (;;) yield null;
}
