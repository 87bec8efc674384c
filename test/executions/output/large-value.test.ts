import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cleanText } from "../../../src/base/texts.ts";
import { shownInput } from "../../../src/executions/output/input-text.ts";
import { type Stub, stubOf } from "../../../src/executions/output/large-value.ts";
import { runs } from "../../support/all-tests.ts";

const ADVICE = "Return less: select, aggregate or count in the program.";

/** A stub, and its size as it goes to the model. */
function stub(value: unknown, allowedBytes: number): { readonly stub: Stub; readonly size: number } {
  const made = stubOf(
    { value, bytes: Buffer.byteLength(JSON.stringify(value)), counts: new Map() },
    allowedBytes,
    ADVICE,
  );
  return { stub: made, size: Buffer.byteLength(cleanText(JSON.stringify(made))) };
}

/** Whether a part is what a value begins with: its first rows, some of its fields, the first characters. */
function isBeginning(part: unknown, whole: unknown): boolean {
  if (part === "…") return true;
  if (typeof part === "string" && typeof whole === "string")
    return part === whole || (part.endsWith("…") && whole.startsWith(part.slice(0, -1))) || areEnds(part, whole);
  if (Array.isArray(part) && Array.isArray(whole))
    return part.length <= whole.length && part.every((row, index) => isBeginning(row, whole[index]));
  if (isObject(part) && isObject(whole))
    return Object.entries(part).every(([name, field]) => Object.hasOwn(whole, name) && isBeginning(field, whole[name]));
  return part === whole;
}

/** Whether a text is both ends of another, with the number of characters between. */
function areEnds(part: string, whole: string): boolean {
  const [, between = "0"] = /… (\d+) characters left out …/.exec(part) ?? [];
  const [first = "", last = ""] = part.split(`… ${between} characters left out …`);
  return (
    whole.startsWith(first) && whole.endsWith(last) && first.length + Number(between) + last.length === whole.length
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const UNITS = ["a", "b", "1", " ", "ü", "漢", "😀", '"', "\\", "\u007f", "\u001b", "\u200b", "\ud800"];
const text = fc.string({ unit: fc.constantFrom(...UNITS), maxLength: 80 });
const name = fc.string({ unit: fc.constantFrom(...UNITS), minLength: 1, maxLength: 120 });

/** Deep, wide and long values, of lists that hold something. */
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.constantFrom(null, true, false),
    fc.array(tie("value"), { minLength: 1, maxLength: 12 }),
    fc.dictionary(name, tie("value"), { maxKeys: 30 }),
    text.map((one) => one.repeat(100)),
  ),
})).value;

test("a stub is JSON of at most the allowed size, its figures are true, and `first` is the beginning", () => {
  fc.assert(
    fc.property(values, fc.integer({ min: 256, max: 5000 }), (value, allowed) => {
      const { stub: made, size } = stub(value, allowed);
      expect(size).toBeLessThanOrEqual(allowed);
      expect(JSON.parse(JSON.stringify(made))).toEqual(made);
      expect(made.too_large).toMatch(/^\S.*\d+ bytes.*\. Return less: .*program\.$/);
      expect(made.bytes).toBe(Buffer.byteLength(JSON.stringify(value)));
      const count = Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : undefined;
      expect(made.count).toBe(count);
      if (made.last === undefined) expect("first" in made ? isBeginning(made.first, value) : true).toBe(true);
      else
        expect(
          areEnds(`${String(made.first)}… ${made.between} characters left out …${made.last}`, value as string),
        ).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});

test.each<[unknown, string]>([
  ["text", "string"],
  [null, "null"],
  [[], "unknown[]"],
  [[1, "a", null], "(number | string | null)[]"],
  [[1, "a", null, true, [1]], "(number | string | boolean | number[] | null)[]"],
  [
    [
      { id: 1, paid: null },
      { id: 2, paid: 3, by: { card: "x" } },
    ],
    "{ id: number, paid: number | null, by?: { card: string } }[]",
  ],
  [{ of: ["O-1", "O-2", "O-3", "O-41"].map((id) => ({ "Order ID": id })) }, '{ of: { "Order ID": string }[] /* 4 */ }'],
  [
    Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`O-${5000 + n}`, [{ qty: n }]])),
    "{ [key: string]: { qty: number }[] } /* 300 */",
  ],
  [{ a: 1, b: 2, c: 3, d: 4, line1: 5 }, "{ a: number, b: number, c: number, d: number, line1: number }"],
  [{}, "{  }"],
  [{ a: 1, b: ["x"] }, "{ a: number, b: string[] /* 1 */ }"],
  [{ a: { b: [1, 2, 3] } }, "{ a: { b: number[] /* 3 */ } }"],
  [{ a: { b: { c: { d: { e: 1 } } } } }, "{ a: { b: { c: { d: object } } } }"],
  [{ ["x".repeat(50)]: 1 }, `{ ${"x".repeat(39)}…: number }`],
])("the shape of %j is %s", (value, shape) => {
  expect(stub(value, 5000).stub.shape).toBe(shape);
});

test("of what stands in a value with its beginning only, the whole is counted", () => {
  const fields = { a: 1, b: 2 };
  const rows = [fields];
  const large = {
    value: rows,
    bytes: 1_000_000,
    counts: new Map<object, number>([
      [rows, 5000],
      [fields, 70],
    ]),
  };
  expect(stubOf(large, 5000, ADVICE)).toEqual({
    too_large: `The first 15 of 1000000 bytes are shown. ${ADVICE}`,
    bytes: 1_000_000,
    shape: "{ a: number, b: number, … 68 more }[]",
    count: 5000,
    first: rows,
  });
});

test("the end of a text that was cut while it was read is shown too", () => {
  const fields = { log: "x".repeat(5000) };
  const texts = new Map([[fields, new Map([["log", { last: `${"z".repeat(5000)} the end`, length: 1_000_000 }]])]]);
  const made = stubOf({ value: [fields], bytes: 1_000_012, counts: new Map(), texts }, 1000, ADVICE);
  const [row] = made.first as { log: string }[];
  expect(row?.log).toMatch(/^x+… \d{6} characters left out …z+ the end$/);
  const root = new Map([[undefined, new Map([["", { last: "the end", length: 1_000_000 }]])]]);
  const text = stubOf({ value: "x".repeat(5000), bytes: 1_000_002, counts: new Map(), texts: root }, 1000, ADVICE);
  expect(String(text.first).length + (text.between ?? 0)).toBe(999_993);
  expect(text.last).toBe("the end");
});

test("a long first field hides no other: each has its name, the short ones are whole, and the text says how much is shown", () => {
  const headings = Array.from({ length: 600 }, (_, n) => ({ heading: `Heading number ${n}` }));
  const { stub: made } = stub({ headings, pages: [3, 17], note: "x".repeat(9000), by: { name: "Eve" } }, 4000);
  expect(made.first).toMatchObject({ pages: [3, 17], by: { name: "Eve" } });
  expect(Object.keys(made.first as object)).toEqual(["headings", "pages", "note", "by"]);
  const shown = Buffer.byteLength(JSON.stringify(made.first));
  expect(made.too_large).toBe(`The beginning of each field is shown, ${shown} of ${made.bytes} bytes. ${ADVICE}`);
  const wide = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`field${n}`, ["x".repeat(500)]]));
  expect(Object.keys(stub(wide, 3500).stub.first as object)).toEqual(Object.keys(wide));
});

test.each<[string, Record<string, unknown>, number, number]>([
  ["texts", wide(300, () => "0123456789"), 3000, 140],
  ["numbers", wide(900, (n) => n % 10), 2000, 200],
  ["records", wide(100, () => ({ text: "x".repeat(60) })), 8000, 90],
])("of many fields the first are shown, like rows, as many as fit: %s", (_, fields, allowed, least) => {
  const shown = Object.entries(stub(fields, allowed).stub.first as object);
  expect(shown).toEqual(Object.entries(fields).slice(0, shown.length));
  expect(shown.length).toBeGreaterThan(least);
});

test("the name of a field is shown, whatever the others leave to it", () => {
  const fields = { ["n".repeat(150)]: 7, ...wide(20, () => "y".repeat(400)) };
  expect(Object.keys(stub(fields, 1500).stub.first as object)).toEqual(Object.keys(fields));
});

function wide(count: number, make: (n: number) => unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, make(n)]));
}

test("names by which many alike values stand are data, and those that each row has are columns", () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`n${"abcdefghij"[n % 10]}${n % 97}`, n]));
  expect(stub(many, 3000).stub.shape).toBe("{ [key: string]: number } /* 100 */");
  for (const name of Object.keys(many)) expect(stub([many, many], 4000).stub.shape).toContain(`${name}: number`);
});

test("where a shape has no room for all types, it has the names of all fields", () => {
  const row = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`column${n}`, { deep: [n] }]));
  const { shape } = stub([row, row], 900).stub;
  for (const name of Object.keys(row)) expect(shape).toContain(name);
});

test("where hardly anything is allowed, a stub still says what kind of value it is, and how large", () => {
  const { stub: made, size } = stub(
    Array.from({ length: 1000 }, () => ({ name: "x".repeat(50) })),
    64,
  );
  expect(made).toEqual({
    too_large: `None of 62001 bytes are shown. ${ADVICE}`,
    bytes: 62_001,
    shape: "array",
    count: 1000,
  });
  expect(size).toBeLessThan(256);
});

test("a person who decides is shown all fields of an input, in whatever order and however long its texts are", () => {
  const input = { note: "Monthly fee. ".repeat(150), to: "Eve", amount: 99_999, list: [{ memo: "é".repeat(5000) }] };
  const { text, isWhole } = shownInput({ input });
  expect(isWhole).toBe(false);
  expect(shownInput({ input: { note: "é".repeat(900) } }).isWhole).toBe(true);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2048);
  const shown = JSON.parse(text) as typeof input;
  expect(shown).toMatchObject({ to: "Eve", amount: 99_999 });
  expect(shown.note).toMatch(/^Monthly fee.*… \d+ characters left out ….*fee\. $/);
  expect(shown.list[0]?.memo).toMatch(/^é+… \d+ characters left out …é+$/);
  const wide = { rows: Array.from({ length: 2000 }, (_, n) => n), to: "Eve" };
  expect(shownInput({ input: wide })).toEqual({
    text: expect.stringMatching(/… \d+ characters left out …/) as string,
    isWhole: false,
  });
  let looks = 0;
  const part = { toJSON: () => `${(looks += 1)}` };
  shownInput({ input: Array.from({ length: 20_000 }, () => part) });
  expect(looks).toBeLessThan(30_000);
});
