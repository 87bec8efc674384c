import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { heldWithin, isLarge, resultType, serialiseResult as serialise, weigh } from "../../../../src/base/index.ts";
import { ALL_TESTS, runs, testOfAll } from "../../../support/all-tests.ts";
import { anyCharacter } from "../../../support/any-character.ts";
import { countTurns } from "../../../support/count-turns.ts";
import { throws } from "../../../support/failing.ts";

const share = heldWithin().share("test", Number.MAX_SAFE_INTEGER);
const resultText = (value: unknown, resultBytes: number, resultValues = 4_000_000) =>
  serialise(value, { resultBytes, resultValues }, share);

test("a result's text is its JSON, and its bytes are those of UTF-8", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      const text = JSON.stringify(value);
      const bytes = Buffer.byteLength(text);
      expect(await resultText(value, Number.MAX_SAFE_INTEGER)).toMatchObject({ type: "text", text, bytes });
    }),
  );
});

test("a result of exactly the allowed size passes, and one byte more does not", async () => {
  expect(await resultText(undefined, 4)).toEqual({ type: "text", text: "null", bytes: 4, values: 1 });
  for (const value of ["é", Array.from({ length: 30_000 }, (_, index) => ({ index, text: "ü" }))]) {
    const text = JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    expect(await resultText(value, bytes)).toMatchObject({ type: "text", text, bytes });
    expect(await resultText(value, bytes - 1)).toEqual({ type: "too_large", bytes });
  }
});

test.each(["", "x".repeat(100_000)])(
  "what holds itself or fails on its way is not JSON, small or large, and the cause is kept for the operator",
  async (text) => {
    const cause = new Error("no");
    const circular: unknown[] = [text];
    circular.push({ circular });
    const hostile = {
      text,
      get field() {
        throw cause;
      },
    };
    expect(isLarge(hostile)).toBe(text !== "");
    for (const value of [hostile, [text, { toJSON: throws(cause) }]])
      expect(await resultText(value, 1_000_000)).toEqual({ type: "not_json", cause });
    for (const value of [circular, [text, Number.NaN]])
      expect(await resultText(value, 1_000_000)).toMatchObject({ type: "not_json", cause: expect.any(TypeError) });
    const shared = [text.slice(0, 70_000)];
    expect(await resultText([shared, shared], 1_000_000)).toMatchObject({ type: "text" });
  },
);

test("a Buffer is a typed array like others, alone and within", async () => {
  const hi = Buffer.from("hi");
  const text = '[[104,105],{"bytes":[104,105]}]';
  expect(await resultText([hi, { bytes: hi }], 100)).toMatchObject({ type: "text", text });
});

test("values of another realm are read, or refused, like those of this one", async () => {
  const foreign = (source: string): unknown => runInNewContext(source);
  for (const source of ['new Error("no")', "/x/", "new Date(NaN)", "Promise.resolve()"])
    expect(await resultText({ at: [foreign(source)] }, 100)).toMatchObject({
      type: "not_json",
      cause: { message: expect.stringContaining("at.0") as string },
    });
  const read = foreign(
    "[new Map([['a', 1]]), new Map([[1, 2], ['1', 3]]), new Set([2]), new Uint8Array([3]), new Date(0)]",
  );
  const text = '[{"a":1},[[1,2],["1",3]],[2],[3],"1970-01-01T00:00:00.000Z"]';
  expect(await resultText(read, 100)).toMatchObject({ type: "text", text });
});

test("iterators become arrays, nested in Maps too", async () => {
  const pages = function* () {
    yield 1;
    yield new Set(["a"]);
  };
  const value = { keys: new Map([["a", 1]]).keys(), map: new Map([["pages", pages()]]) };
  expect(await resultText(value, 1000)).toMatchObject({ text: '{"keys":["a"],"map":{"pages":[1,["a"]]}}' });
  const rows = Array.from({ length: 30_000 }, (_, id) => ({ id }));
  expect(await resultText({ rows: rows.values() }, 1_000_000)).toMatchObject({ text: JSON.stringify({ rows }) });
});

function* endless(onClosed = () => {}): Generator<number> {
  try {
    for (;;) yield 1;
  } finally {
    onClosed();
  }
}

test.each<[string, unknown, string]>([
  ["a function", { a: [{ b: () => 1 }] }, "a function at a.0.b"],
  ["a symbol", [Symbol("a")], "a symbol at 0"],
  ["an Error", { a: [new Error("no")] }, "an Error, which the handler has to throw at a.0"],
  ["an Error that is all there is", new TypeError("no"), "an Error, which the handler has to throw"],
  ["NaN", [{ a: Number.NaN }], "NaN at 0.a"],
  ["an infinite number", { a: Number.NEGATIVE_INFINITY }, "-Infinity at a"],
  ["NaN in a typed array", { a: new Float64Array([0, Number.NaN]) }, "NaN at a.1"],
  ["an invalid date", { a: new Date(Number.NaN) }, "an invalid date at a"],
  ["NaN that a toJSON gives", { a: { toJSON: () => ({ b: Number.NaN }) } }, "NaN at a.b"],
  ["NaN behind much else", ["x".repeat(70_000), Number.NaN], "NaN at"],
  ["a RegExp", { a: /b/ }, "an object of the class RegExp at a"],
  ["a WeakMap", new Map([["a", new WeakMap()]]), "an object of the class WeakMap at a"],
  [
    "a class without fields",
    { a: Object.create({ constructor: { name: "Money" } }) },
    "an object of the class Money at a",
  ],
  ["an ArrayBuffer", { a: new ArrayBuffer(8) }, "an object of the class ArrayBuffer at a"],
  ["a Promise", { a: Promise.resolve(1) }, "a Promise, which the handler has to await at a"],
  ["an async generator", { a: (async function* () {})() }, "class AsyncGenerator (a tool with `stream: true` gives"],
  ["an endless iterator", { a: endless() }, "an iterator, with which iterators have more than 1000 values at a"],
])("%s is refused with its path", async (name, value, words) => {
  const made = await resultText(value, name === "NaN behind much else" ? 100_000 : 1000);
  expect(made.type).toBe("not_json");
  expect(String((made as { cause: unknown }).cause)).toContain(words);
});

test("an iterator with too many values is closed", async () => {
  const closed = vi.fn();
  expect(await resultText({ rows: endless(closed) }, 1000)).toMatchObject({ type: "not_json" });
  expect(closed).toHaveBeenCalledOnce();
});

test("iterators are read no further than values are read at once, however many there are and however large a result may be", async () => {
  let read = 0;
  const rows = function* (most: number) {
    for (let row = 0; row < most; row += 1) yield (read += 1);
  };
  const lists = Array.from({ length: 10 }, () => rows(100_000));
  for (const value of [[rows(Number.POSITIVE_INFINITY)], lists]) {
    read = 0;
    expect(await resultText(value, 1_000_000_000)).toMatchObject({ type: "not_json" });
    expect(read).toBeLessThan(300_000);
  }
});

test("a list of more holes than values are allowed is refused by its length", async () => {
  let read = 0;
  const holes = new Proxy(Array.from({ length: 1 }), {
    get(list, key) {
      if (typeof key === "string" && /^\d+$/.test(key)) read += 1;
      return key === "length" ? 30_000_000 : (Reflect.get(list, key) as unknown);
    },
  });
  expect(await resultText({ holes }, 1_000_000_000, 4_000_000)).toMatchObject({ type: "too_many" });
  expect(read).toBeLessThan(1_000_000);
});

test("no string of a large result becomes JSON in one piece", async () => {
  const text = "é\n".repeat(500_000);
  const written = vi.spyOn(JSON, "stringify");
  const made = await resultText({ rows: [text] }, 10_000_000);
  const longest = written.mock.calls.map(([value]) => (typeof value === "string" ? value.length : 0));
  written.mockRestore();
  expect(made).toMatchObject({ type: "text", text: JSON.stringify({ rows: [text] }) });
  expect(Math.max(...longest)).toBeLessThan(100_000);
});

// ---- weighing --------------------------------------------------------------------------------------------------

test("no value has fewer bytes of JSON than it weighs", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCharacter }), (value) => {
      expect(weigh(value, Number.MAX_SAFE_INTEGER)).toBeLessThanOrEqual(Buffer.byteLength(JSON.stringify(value)));
    }),
    { numRuns: runs(1000) },
  );
});

test("large arrays of numbers are written, counted and weighed without a list of their elements", async () => {
  class Unlisted extends Uint8Array {
    override [Symbol.iterator](): never {
      throw new Error("All elements are read at once.");
    }
  }
  const bytes = 100_000;
  const zeros = `[${"0,".repeat(bytes - 1)}0]`;
  expect(await resultText(new Unlisted(bytes), 1_000_000)).toMatchObject({ type: "text", text: zeros });
  const buffer = Object.defineProperty(Buffer.alloc(bytes), "toJSON", {
    value: throws("A list of all bytes is made."),
  });
  expect(await resultText(buffer, 1_000_000)).toMatchObject({ type: "text", text: zeros });
  // An element of eight bytes may be one digit.
  expect(await resultText(new Float64Array(bytes), zeros.length)).toMatchObject({ type: "text", text: zeros });
});

/** A list of so many rows that notes how many of them were looked at. */
function watchedRows(length: number) {
  const seen = { rows: 0 };
  const rows: unknown = new Proxy([], {
    get: (target, key) => {
      if (key === "length") return length;
      if (typeof key === "string" && /^\d+$/.test(key)) seen.rows += 1;
      return typeof key === "string" && /^\d+$/.test(key) ? "row" : Reflect.get(target, key);
    },
  });
  return { rows, seen };
}

test("a huge value is not walked further than needed", () => {
  const { rows, seen } = watchedRows(1_000_000_000);
  expect(weigh({ rows }, 1000)).toBeGreaterThan(1000);
  expect(seen.rows).toBeLessThanOrEqual(1000);
  let looks = 0;
  const fields = Object.defineProperty({ text: "x".repeat(2000) }, "later", {
    enumerable: true,
    get: () => ((looks += 1), ""),
  });
  expect(weigh(fields, 1000)).toBeGreaterThan(1000);
  expect(looks).toBe(0);
});

test("a value is walked no deeper than a stack bears, and what makes its own JSON is not asked for it", () => {
  let deep: unknown = [];
  for (let level = 0; level < 1_000_000; level += 1) deep = [deep];
  expect(weigh(deep, Number.MAX_SAFE_INTEGER)).toBeLessThan(10_000);
  let asked = 0;
  const own = { toJSON: () => ((asked += 1), ""), text: "x".repeat(100_000) };
  expect([isLarge(own), isLarge(new Date(0)), asked]).toEqual([false, false, 0]);
});

// ---- large results -----------------------------------------------------------------------------------------------

/** Values whose text is made in parts: long texts, long lists and many fields at any depth, beside all that JSON knows and leaves out. */
const leaf = fc.oneof(
  fc.jsonValue({ stringUnit: anyCharacter, maxDepth: 2 }),
  fc.constantFrom<unknown>(undefined, new Date(0), new URL("https://example.test/a"), {
    toJSON: () => ["made"],
  }),
  fc.constantFrom<unknown>(
    new Map<unknown, unknown>([
      ["a", new Set([1])],
      [2, null],
    ]),
    new Map([[{ a: 1 }, "b"]]),
    new Set(["ü", new Map()]),
    new Float32Array([1.5, 2]),
    new URLSearchParams({ a: "b c" }),
  ),
);
const heavy = fc.oneof(
  fc.constantFrom("x", "ü", '"', "\ud800").map((unit) => unit.repeat(70_000)),
  leaf.map((one) => Array.from({ length: 20_000 }, () => one)),
  fc.array(leaf, { maxLength: 5 }).map((some) => Array.from({ length: 30_000 }, (_, index) => some[index % 7])),
  leaf.map((one) => Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`field ${index}`, one]))),
  fc.constantFrom<unknown>(
    new Uint16Array(40_000),
    new Set(Array.from({ length: 40_000 }, (_, index) => index)),
    new Map(Array.from({ length: 9000 }, (_, index) => [`key ${index}`, new Set([index])])),
  ),
);
const large = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    heavy,
    fc
      .tuple(fc.array(leaf, { maxLength: 3 }), tie("value"), fc.array(leaf, { maxLength: 3 }))
      .map((parts) => parts.flat(1)),
    fc.tuple(leaf, tie("value"), leaf).map(([a, b, c]) => ({ 7: c, a, "b\n": b, c, __proto: a })),
  ),
})).value;

/** What JSON.stringify makes of a value in which the objects that it empties are replaced first. */
function expectedText(root: unknown): string {
  const text = JSON.stringify(root, (_key, value: unknown) => {
    if (value instanceof Set || value instanceof Uint16Array || value instanceof Float32Array) return Array.from(value);
    if (value instanceof URLSearchParams) return String(value);
    if (!(value instanceof Map)) return value;
    return [...value.keys()].some((key) => typeof key === "object") ? [...value] : Object.fromEntries(value);
  });
  return text ?? "null";
}

test("the text of a large result is to the letter what JSON.stringify makes of it", async () => {
  let inParts = 0;
  const property = fc.asyncProperty(large, async (value) => {
    if (isLarge(value)) inParts += 1;
    const text = expectedText(value);
    const made = await resultText(value, Number.MAX_SAFE_INTEGER);
    expect(made.type === "text" && made.text === text && made.bytes === Buffer.byteLength(text)).toBe(true);
  });
  if (ALL_TESTS) await fc.assert(property, { numRuns: 60 });
  // Few draws may leave out what is counted. Those of the seed do not.
  await fc.assert(property, { numRuns: 6, seed: 5 });
  expect(inParts).toBeGreaterThan(2);
});

test("of a result far over its limit only the first part is made", async () => {
  let made = 0;
  const row = { toJSON: () => ((made += 1), "x".repeat(1000)) };
  const rows = Array.from({ length: 100_000 }, () => row);
  expect(await resultText(rows, 1_000_000)).toMatchObject({ type: "too_large" });
  expect(made).toBeLessThan(2000);
  expect(await resultText(Buffer.alloc(1_000_000), 1_000_000)).toMatchObject({ type: "too_large" });
});

test("a large result for which there is no memory rejects nothing, and the cause is kept for the operator", async () => {
  const own = globalThis.ArrayBuffer;
  globalThis.ArrayBuffer = class extends own {
    constructor(length: number, options?: { readonly maxByteLength?: number }) {
      if (options?.maxByteLength !== undefined) throw new RangeError("Array buffer allocation failed");
      super(length);
    }
  } as typeof ArrayBuffer;
  try {
    const made = await resultText(["x".repeat(400_000)], Number.MAX_SAFE_INTEGER);
    expect(made).toEqual({ type: "not_json", cause: new RangeError("Array buffer allocation failed") });
  } finally {
    globalThis.ArrayBuffer = own;
  }
});

testOfAll("others get the host's thread while a large result is made", async () => {
  const rows = Array.from({ length: 1_000_000 }, (_, index) => ({ index, text: "some text" }));
  const turns = countTurns();
  await resultText(rows, Number.MAX_SAFE_INTEGER);
  expect(turns()).toBeGreaterThan(2);
});

// ---- kinds -------------------------------------------------------------------------------------------------------

test("a result's kind is told in a word or two", () => {
  expect([null, undefined, [], [1, 2], {}, "a"].map(resultType)).toEqual([
    "null",
    "null",
    "array of 0",
    "array of 2",
    "object",
    "string",
  ]);
});

const countOf = (value: unknown): number =>
  typeof value !== "object" || value === null
    ? 1
    : Object.values(value).reduce<number>((sum, part) => sum + countOf(part), 1);

test("a result of as many values as are allowed passes, and one more does not, however it is nested", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.nat(3), async (part, times) => {
      // Some are serialised at once, some in parts.
      const value = Array.from({ length: 1 + times * 40 }, () => ({ part, padding: "-".repeat(times * 1000) }));
      const values = countOf(JSON.parse(JSON.stringify(value)));
      expect(await resultText(value, 10_000_000, values)).toMatchObject({ type: "text" });
      expect(await resultText(value, 10_000_000, values - 1)).toMatchObject({ type: "too_many" });
    }),
    { numRuns: runs(200) },
  );
});

test.each([
  ["what a toJSON gives", (count: number) => ({ toJSON: () => Array.from({ length: count }, () => 0) })],
  ["a map", (count: number) => new Map(Array.from({ length: count }, (_, n) => [String(n), 0] as const))],
  ["a set", (count: number) => new Set(Array.from({ length: count }, (_, n) => n))],
  ["a typed array", (count: number) => new Uint8Array(count)],
  ["a buffer", (count: number) => Buffer.alloc(count)],
  ["an iterator", (count: number) => Array.from({ length: count }, () => 0).values()],
])("%s counts by what it is in JSON", async (_, make) => {
  for (const count of [50, ALL_TESTS ? 200_000 : 20_000])
    for (const padding of ["", "-".repeat(70_000)]) {
      const value = () => [make(count), padding];
      expect(await resultText(value(), 10_000_000, count * 2 + 10)).toMatchObject({ type: "text" });
      expect(await resultText(value(), 10_000_000, count - 1)).toMatchObject({ type: "too_many" });
    }
});
