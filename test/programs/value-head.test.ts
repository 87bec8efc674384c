import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readHead } from "../../src/programs/value-head.ts";

const plain = fc.jsonValue({ maxDepth: 6 }).filter((value) => !JSON.stringify(value).includes("__proto__"));

test("where there is room, the head is the whole value, however it is spaced", () => {
  fc.assert(
    fc.property(plain, fc.constantFrom(0, 2, "\t", "\r\n "), (value, space) => {
      const text = JSON.stringify(value, null, space);
      expect(readHead(text, text.length + 1)).toEqual({ value: JSON.parse(text), counts: new Map() });
    }),
  );
});

test("where there is little room, every entry that is left out is counted, and none is invented", () => {
  fc.assert(
    fc.property(plain, fc.nat(40), (value, room) => {
      const head = readHead(JSON.stringify(value), room);
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

test("the fields behind a long list are read, for the shape to be told", () => {
  const rows = Array.from({ length: 50_000 }, (_, id) => ({ id }));
  const head = readHead(JSON.stringify({ rows, total: rows.length, page: { next: null } }), 1000);
  expect(head?.value).toMatchObject({ total: 50_000, page: { next: null } });
  const read = (head as { value: { rows: object[] } }).value.rows;
  expect(read.length).toBeLessThan(200);
  expect(head?.counts.get(read)).toBe(50_000);
});

test("of hundreds of thousands of records within records only a few are read", () => {
  const text = `[${'{"a":{"b":{"c":1}}},'.repeat(200_000)}0]`;
  const head = readHead(text, 1000);
  const { value, counts } = head as { value: object[]; counts: Map<object, number> };
  expect(value.length).toBeLessThan(500);
  expect(counts.get(value)).toBe(200_001);
});

test("what is no plain JSON is no value", () => {
  const deep = `${"[".repeat(102)}${"]".repeat(102)}`;
  for (const text of [
    "",
    " ",
    "[",
    "{",
    "]",
    "[1",
    "[1,",
    "[1}",
    "[,]",
    "[1,]",
    "1 2",
    "[]]",
    "{1:2}",
    '{"a"}',
    '{"a":}',
    '{"a" "b"}',
    '"a',
    '"a\\"',
    "undefined",
    "[01]",
    '{"__proto__":1}',
    '{"\\u005f_proto__":1}',
    deep,
    `[1,${deep}]`,
  ])
    expect(readHead(text, 1000), text).toBeUndefined();
  for (const text of ["[1,[", "[1,{", "[1,[[]", '[1,"a', "[1,[}", "[1,2}", '{"a":1,"b":[}]'])
    expect(readHead(text, 0), text).toBeUndefined();
});
