import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CutTexts, Lane, readHead as readHeadIn } from "../../../../src/base/index.ts";
import { SliceScheduler } from "../../../../src/base/values/slice-scheduler.ts";
import { jsonHead } from "../../../../src/tools/json-schema/json-head.ts";
import { someOf } from "../../../support/all-tests.ts";
import { countTurns } from "../../../support/count-turns.ts";

const lane = new Lane("test");
const readHead = (text: string, room: number) => readHeadIn(text, room, lane);

const plain = fc.jsonValue({ maxDepth: 6 }).filter((value) => !JSON.stringify(value).includes("__proto__"));

test("where there is room, the head is the whole value, however it is spaced", async () => {
  await fc.assert(
    fc.asyncProperty(plain, fc.constantFrom(0, 2, "\t", "\r\n "), async (value, space) => {
      const text = JSON.stringify(value, null, space);
      expect(await readHead(text, text.length + 1)).toEqual({ value: JSON.parse(text), counts: new Map() });
    }),
  );
});

test("where there is little room, every entry that is left out is counted, and none is invented", async () => {
  await fc.assert(
    fc.asyncProperty(plain, fc.nat(40), async (value, room) => {
      const head = await readHead(JSON.stringify(value), room);
      expectBeginning(head?.value, value, head?.counts ?? new Map());
    }),
  );
});

function expectBeginning(head: unknown, whole: unknown, counts: ReadonlyMap<object, number>): void {
  if (typeof head !== "object" || head === null) return expect(head).toEqual(JSON.parse(JSON.stringify(whole)));
  const entries = Object.entries(head);
  const all = whole as Record<string, unknown>;
  expect(counts.get(head) ?? entries.length).toBe(Object.keys(all).length);
  for (const [name, entry] of entries) expectBeginning(entry, all[name], counts);
}

test("the fields behind a long list are read, for the shape to be told", async () => {
  const rows = Array.from({ length: 50_000 }, (_, id) => ({ id }));
  const head = await readHead(JSON.stringify({ rows, total: rows.length, page: { next: null } }), 1000);
  expect(head?.value).toMatchObject({ total: 50_000, page: { next: null } });
  const read = (head as { value: { rows: object[] } }).value.rows;
  expect(read.length).toBeLessThan(200);
  expect(head?.counts.get(read)).toBe(50_000);
});

test("behind a long list, short parts are read whole, and the names of all fields", async () => {
  const names = Array.from({ length: 150 }, (_, n) => [`field${n}`, n] as const);
  const whole = { pages: [3, 17, 40], by: { name: "Eve", of: [1, 2] }, ...Object.fromEntries(names) };
  const head = await readHead(
    JSON.stringify({ rows: Array.from({ length: 5000 }, (_, id) => ({ id })), ...whole }),
    500,
  );
  expect(head?.value).toMatchObject(whole);
});

test("of many long texts for which there is no room, little is held", async () => {
  const fields = Array.from({ length: 100 }, (_, n) => [`field${n}`, "x".repeat(50_000)] as const);
  const head = await readHead(JSON.stringify(Object.fromEntries(fields)), 16_000);
  expect(JSON.stringify(head?.value).length).toBeLessThan(300_000);
  expect(head?.texts?.values().next().value?.get("field99")?.length).toBe(50_000);
});

test("of hundreds of thousands of records within records only a few are read", async () => {
  const text = `[${'{"a":{"b":{"c":1}}},'.repeat(200_000)}0]`;
  const head = await readHead(text, 1000);
  const { value, counts } = head as { value: object[]; counts: Map<object, number> };
  expect(value.length).toBeLessThan(500);
  expect(counts.get(value)).toBe(200_001);
});

const LARGE = 3 * 1024 * 1024;
const filled = (unit: string) => unit.repeat(LARGE / unit.length);

const LARGE_VALUES: readonly (readonly [string, () => string, number])[] = [
  ["empty lists", () => `[${filled("[],")}0]`, LARGE / 3 + 1],
  ["lists within lists", () => `[${filled(`${"[".repeat(20)}${"]".repeat(20)},`)}0]`, Math.floor(LARGE / 41) + 1],
  ["fields", () => `{${filled('"name":1,')}"last":0}`, Math.floor(LARGE / 9) + 1],
  ["short texts", () => `[${filled('"",')}0]`, LARGE / 3 + 1],
  ["escaped marks", () => `["${filled('\\"')}"]`, 1],
  ["backslashes", () => `["${filled("\\\\")}"]`, 1],
];
/** Each look at its clock takes a millisecond: how fast this machine reads does not count. */
function tickingScheduler(): SliceScheduler {
  let ms = 0;
  return new SliceScheduler({
    now: () => (ms += 1),
    nextTurn: (callback) => void setImmediate(callback),
    settled: (callback) => queueMicrotask(() => process.nextTick(callback)),
  });
}

test.each(someOf(LARGE_VALUES, 2))(
  "others have their turns while a large value is read: %s",
  async (_, textOf, count) => {
    const text = textOf();
    const turns = countTurns();
    const head = await readHeadIn(text, 1000, new Lane("test", tickingScheduler()));
    expect(turns()).toBeGreaterThan(10);
    const { value, counts } = head as { value: object; counts: Map<object, number> };
    expect(counts.get(value) ?? Object.keys(value).length).toBe(count);
  },
);

test.each(["x", "é", "—", "😀", '"', "\\", "\n", "\u0001"])(
  "of a long text of %j more is read than there is room for, and nothing is invented, wherever it is cut",
  async (character) => {
    for (let length = 0; length < 12; length += 1) {
      const text = `${"x".repeat(length)}${character.repeat(10_000)}`;
      const read = (await readHead(JSON.stringify([text]), 100))?.value as [string];
      expect(text.startsWith(read[0])).toBe(true);
      expect(read[0].length).toBeGreaterThan(100);
      expect(read[0].length).toBeLessThan(5000);
    }
  },
);

test("fields whose names are cut still count each", async () => {
  const name = "x".repeat(10_000);
  const { value, counts } = (await readHead(`{"${name}1":1,"${name}2":2}`, 100)) ?? { value: {}, counts: new Map() };
  expect(Object.values(value as object)).toEqual([1, 2]);
  expect(Object.keys(value as object).every((read) => read.startsWith("x".repeat(1000)))).toBe(true);
  expect(counts.size).toBe(0);
});

test("what is no plain JSON is no value", async () => {
  const deep = `${"[".repeat(102)}${"]".repeat(102)}`;
  const short = String.raw`[ { ] [1 [1, [1} [,] [1,] [1,2 [01] []] {1:2} {"a"} {"a":} "a "a\" "a\ "\q" undefined {"__proto__":1} {"\u005f_proto__":1}`;
  const x = "x".repeat(10_000);
  const long = [`"\\q${x}"`, `"${x}`, `"${x}\\"`, `"${x.repeat(5)}\\q${x.repeat(5)}"`, deep, `[1,${deep}]`];
  for (const text of ["", " ", "1 2", '{"a" "b"}', ...short.split(" "), ...long])
    expect(await readHead(text, 1000), text).toBeUndefined();
  for (const text of ["[1,[", "[1,{", "[1,[[]", '[1,"a', "[1,[}", "[1,2}", '{"a":1,"b":[}]'])
    expect(await readHead(text, 0), text).toBeUndefined();
});

test("a text that ends before its containers is no value, wherever it ends", async () => {
  await fc.assert(
    fc.asyncProperty(
      plain.filter((value) => typeof value === "object" && value !== null),
      fc.nat(),
      async (value, at) => {
        const text = JSON.stringify(value);
        expect(await readHead(text.slice(0, at % text.length), text.length + 1)).toBeUndefined();
      },
    ),
  );
  expect(await readHead("[[]", 100)).toBeUndefined();
});

test("white space takes no room: of numbers on lines of their own as many are read", async () => {
  const numbers = Array.from({ length: 1000 }, (_, index) => index);
  const [compact, spaced] = [
    await readHead(JSON.stringify(numbers), 200),
    await readHead(JSON.stringify(numbers, null, 8), 200),
  ];
  expect(spaced?.value).toEqual(compact?.value);
});

test("of a long text the beginning, the end and the length are read, wherever it stands", async () => {
  const long = `begin${'\\u00e9\n😀"'.repeat(40_000)} the end`;
  const head = await readHead(JSON.stringify({ rows: [1, long], log: long, short: "x" }), 100);
  const { value, texts } = head as { value: { rows: unknown[]; log: string }; texts: CutTexts };
  expect(long.startsWith(value.log)).toBe(true);
  for (const [holder, name] of [
    [value, "log"],
    [value.rows, "1"],
  ] as const) {
    const { last = "", length } = texts.get(holder)?.get(name) ?? {};
    expect(length).toBe(long.length);
    expect(last.length).toBeGreaterThan(1000);
    expect(long.endsWith(last)).toBe(true);
  }
  const alone = await readHead(JSON.stringify(long), 100);
  expect(alone?.texts?.get(undefined)?.get("")).toMatchObject({ length: long.length });
  expect((await readHead(JSON.stringify("x".repeat(1000)), 100))?.texts).toBeUndefined();
});

test("the JSON of a schema's value is made once, however often it is shown, and of a long text only its beginning", () => {
  let made = 0;
  const value = { toJSON: () => ((made += 1), "x".repeat(1000)) };
  expect([jsonHead(value, 40), jsonHead(value, 40)].map((head) => head?.length)).toEqual([512, 512]);
  expect(made).toBe(1);
  expect(jsonHead("y".repeat(1_000_000), 40)).toBe(`"${"y".repeat(41)}"`);
  expect([jsonHead(undefined, 40), jsonHead(7, 40), jsonHead([1], 40)]).toEqual([undefined, "7", "[1]"]);
});
