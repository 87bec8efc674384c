import * as fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { Redactor } from "../../../src/journal/redaction/redactor.ts";
import { viewsOf } from "../../../src/journal/redaction/json-view.ts";
import type { Redact } from "../../../src/index.ts";
import { manualClock } from "../../support/clock.ts";
import { finding } from "./redact.ts";
import { runs, testOfAll } from "../../support/all-tests.ts";

afterEach(() => {
  vi.useRealTimers();
});

const about = { to: "model" } as const;
const redactor = (redact: Redact, onFailed: (error: unknown) => void = (error) => expect(error).toBeUndefined()) =>
  new Redactor(redact, onFailed);

test("what is found is replaced by its size and its kind, and the rest stays", async () => {
  expect(await redactor(finding("hunter2")).text("a hunter2 and hunter2.", about)).toEqual({
    text: "a [redacted 7 characters: test] and [redacted 7 characters: test].",
    count: 14,
  });
  expect(await redactor(() => [{ start: 0, end: 1, what: "x\n[forged]" }]).text("ab", about)).toEqual({
    text: "[redacted 1 character: xforged]b",
    count: 1,
  });
});

test("parts that overlap are one", async () => {
  const parts = [
    { start: 4, end: 6, what: "b" },
    { start: 0, end: 3, what: "a" },
    { start: 2, end: 5, what: "c" },
  ];
  expect(await redactor(() => parts).text("0123456789", about)).toEqual({
    text: "[redacted 6 characters: a]6789",
    count: 6,
  });
});

/** JSON with a secret in names and strings, also behind escapes, in numbers, and at any depth. */
const SECRET = '7"é\n4';
const word = fc.oneof(fc.string(), fc.constantFrom(SECRET, `x${SECRET}y`, `${SECRET}${SECRET}`));
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    word,
    fc.double({ noDefaultInfinity: true, noNaN: true }),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(word, tie("value"), { maxKeys: 4 }),
  ),
})).value;

test("JSON stays JSON, no name and no string keeps what was found, and no field is lost", async () => {
  const redact = redactor(finding(SECRET));
  const shapeOf = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(shapeOf)
      : typeof value === "object" && value !== null
        ? Object.values(value).map(shapeOf)
        : typeof value;
  const allOf = (value: unknown): readonly string[] =>
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, field]) => [name, ...allOf(field)])
      : [String(value)];
  await fc.assert(
    fc.asyncProperty(json, fc.constantFrom(undefined, 1), async (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      const redacted = await redact.json(text, about);
      const read = JSON.parse(redacted.text) as unknown;
      expect(allOf(read).some((one) => one.includes(SECRET))).toBe(false);
      // Names that look like numbers come first in a record.
      expect(JSON.stringify(shapeOf(read)).length).toBe(JSON.stringify(shapeOf(value)).length);
      const has = allOf(value).some((one) => one.includes(SECRET));
      expect(redacted.count > 0).toBe(has);
      if (!has) expect(redacted.text).toBe(text);
    }),
    { numRuns: runs(300) },
  );
});

test("a number that is found becomes a text, and the function reads JSON as a page: one field a line, with the paths of its fields", async () => {
  const value = { card: 4111, user: { "first name": "Ann", tags: ['a"b', 1.5e3, true, null], none: {} } };
  const text = JSON.stringify(value, undefined, 2);
  expect((await Array.fromAsync(viewsOf(text), (view) => view.text)).join("")).toBe(
    'card: 4111\nuser: \nfirst name: Ann\ntags: \na"b\n1500\nnone: \n',
  );
  const seen: unknown[] = [];
  const redact = redactor(({ fields = [], text: page }) => {
    seen.push(...fields.map(({ path, start, end }) => [path, page.slice(start, end)]));
    return finding("4111")({ text: page, to: "model" });
  });
  expect(JSON.parse((await redact.json(text, about)).text)).toEqual({
    ...value,
    card: "[redacted 4 characters: test]",
  });
  expect(seen).toEqual([
    ["card", "4111"],
    ["user.first name", "Ann"],
    ["user.tags", 'a"b'],
    ["user.tags", "1500"],
  ]);
});

test.each<[string, Redact, string]>([
  ["throws", () => explode(), "it broke on hunter2"],
  ["rejects", async () => explode(), "it broke on hunter2"],
  ["gives a text", () => "clean" as never, "it gave no list"],
  [
    "gives parts outside of the text",
    () => [{ start: 0, end: 99, what: "x" }],
    "it gave a part that is not in the text",
  ],
  ["gives parts that end before they begin", () => [{ start: 2, end: 1, what: "x" }], "not in the text"],
  ["gives something else", () => [[0, 1]] as never, "{ start, end, what }"],
])("where the function %s nothing of the text leaves, and the operator is told", async (_, redact, why) => {
  const told: string[] = [];
  const failing = redactor(redact, (error) => told.push((error as Error).message));
  expect(await failing.text("hunter2", about)).toEqual({ text: "[redacted 7 characters: redact failed]", count: 7 });
  expect(await failing.json('{"a":"hunter2"}', about)).toEqual({
    text: '"[redacted 15 characters: redact failed]"',
    count: 15,
  });
  expect(told).toEqual([expect.stringContaining(why), expect.stringContaining(why)]);
});

function explode(): never {
  throw new Error("it broke on hunter2");
}

test("where the function hangs nothing of the text leaves", async () => {
  const clock = manualClock();
  const told = vi.fn();
  const redacting = redactor(() => new Promise(() => {}), told).text("hunter2", about);
  await clock.advance(10_000);
  expect((await redacting).text).toBe("[redacted 7 characters: redact failed]");
  expect(told).toHaveBeenCalledOnce();
});

testOfAll(
  "JSON of a million values is searched in bounded parts, in each of which its names and paths are right",
  async () => {
    const most = { text: 0, fields: 0 };
    const wide = new Redactor(
      ({ text, fields = [] }) => {
        most.text = Math.max(most.text, text.length);
        most.fields = Math.max(most.fields, fields.length);
        return fields.flatMap(({ path, start, end }) => (path === "rows.pin" ? [{ start, end, what: "pin" }] : []));
      },
      (error) => expect(error).toBeUndefined(),
    );
    const rows = Array.from({ length: 250_000 }, (_, n) => ({ n, pin: n }));
    const { text } = await wide.json(JSON.stringify({ rows }), { to: "model" });
    const read = JSON.parse(text) as { readonly rows: readonly { readonly n: number; readonly pin: string }[] };
    expect(read.rows).toHaveLength(rows.length);
    for (const { n, pin } of read.rows) {
      const { length } = String(n);
      if (pin !== `[redacted ${length} character${length === 1 ? "" : "s"}: pin]`) expect.fail(`row ${n} has ${pin}`);
    }
    expect(most.fields).toBeLessThanOrEqual(50_000);
    expect(most.text).toBeLessThan(1_000_000);
  },
);

test("among many texts that take no time each, other work gets the thread", async () => {
  const clock = manualClock();
  const one = redactor(() => {
    clock.block(1);
    return [];
  });
  let turns = 0;
  const next = () => void setImmediate(() => ((turns += 1), turns < 1000 && next()));
  next();
  for (let text = 0; text < 100; text += 1) await one.text("x", about);
  expect(turns).toBeGreaterThan(15);
  turns = 1000;
});
