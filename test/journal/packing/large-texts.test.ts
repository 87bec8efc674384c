import { createHash } from "node:crypto";
import { zstdCompressSync } from "node:zlib";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { packRecord, type StoredText, type TextStore, unpackRecord } from "../../../src/journal/packing/large-texts.ts";
import { inSteps, parseInSteps } from "../../../src/journal/packing/parse-in-steps.ts";
import { header, turn } from "../records.ts";
import { ALL_TESTS, runs, testOfAll } from "../../support/all-tests.ts";

/** The record as it comes back, and the length of its row. */
async function stored(record: object): Promise<{ readonly back: unknown; readonly length: number }> {
  const { text, longTexts } = await packRecord(record);
  return { back: await unpackRecord(text, storeOf(longTexts)), length: text.length };
}

function storeOf(longTexts: readonly StoredText[]): TextStore {
  const texts = new Map(longTexts.map((one) => [one.sha256.toString("hex"), one]));
  return {
    sizesOf: () => new Map(longTexts.map(({ sha256, bytes }) => [sha256.toString("hex"), bytes])),
    find: (sha256) => texts.get(sha256.toString("hex")),
    hold: () => Promise.resolve(),
  };
}

/** A record of a file that was altered: its list has `count` times a part with this text. */
function unpackParts(part: string, count = 1): Promise<unknown> {
  const sha256 = createHash("sha256").update(part).digest();
  const ref = { part: true, sha256: sha256.toString("hex") };
  const store = storeOf([{ sha256, bytes: part.length, data: zstdCompressSync(part) }]);
  return unpackRecord(
    JSON.stringify(turn("event", ...Array.from({ length: count }, () => ref as unknown as string))),
    store,
  );
}

test.each([
  ["is too large", `["${"x".repeat(2_000_000)}"]`, "is larger than"],
  ["has more values than a list has texts", `[${"1,".repeat(300_000)}1]`, "too many values"],
  ["is nested without an end", "[".repeat(300_000), "too many values"],
  ["has no texts", "[1]", "is no list of texts"],
])("a part of a list that %s is refused", async (_, part, why) => {
  await expect(unpackParts(part)).rejects.toThrow(why);
});

testOfAll("a list that names a part more often than a list may have texts is refused", async () => {
  await expect(unpackParts(`[${'"",'.repeat(250_000)}""]`, 70)).rejects.toThrow("too many elements");
});

/** A text of some length, also with half of a surrogate pair, quotes and backslashes. */
const text = fc
  .tuple(fc.string({ unit: "grapheme" }), fc.constantFrom("x", "\\", '"', "é", "😀", "\ud800", "\n"), fc.nat(200_000))
  .map(([head, unit, length]) => head + unit.repeat(length / unit.length));

test("a turn comes back as it was, whatever its texts and however many, and its row stays short", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 12 }), async (commands) => {
      const record = turn(commands[0] ?? "", ...commands);
      const { back } = await stored(record);
      expect(back).toEqual(record);
    }),
    { numRuns: runs(40) },
  );
});

test.each([
  ["many short texts", Array.from({ length: ALL_TESTS ? 100_000 : 20_000 }, (_, n) => `{"kind":"call","id":${n}}\n{}`)],
  ["a short text between long ones", ["a", "x".repeat(100_000), "b", "y".repeat(100_000), "c".repeat(300_000)]],
  ["texts of no length", Array.from({ length: 300_000 }, () => "")],
  ["texts of 60 kB", Array.from({ length: 100 }, (_, n) => `${n}`.repeat(30_000))],
  [
    "texts that look like references",
    ['{"part":true,"sha256":"00"}', `{"head":"","sha256":"00"}${"x".repeat(300_000)}`],
  ],
])("%s are many rows: none of them has more than 600 kB", async (_, commands) => {
  const record = { ...turn("event"), commands };
  const { back, length } = await stored(record);
  expect(back).toEqual(record);
  expect(length).toBeLessThan(600_000);
  const { longTexts } = await packRecord(record);
  for (const { bytes } of longTexts) expect(bytes).toBeLessThan(600_000);
});

test("other records come back as they were", async () => {
  const large = header("one", { source: "x".repeat(1_000_000), tools: [{ name: "y".repeat(100_000), digest: "ab" }] });
  expect((await stored(large)).back).toEqual(large);
});

test("a row is parsed in steps as it is at once", async () => {
  const value = fc.jsonValue({ noUnicodeString: false });
  const rows = fc.dictionary(fc.string(), fc.oneof(value, fc.array(fc.oneof(value, text), { maxLength: 5 })));
  await fc.assert(
    fc.asyncProperty(rows, async (row) => {
      const json = JSON.stringify({ pad: "x".repeat(300_000), ...row });
      expect(await inSteps(parseInSteps(json), () => Promise.resolve())).toEqual(JSON.parse(json));
    }),
    { numRuns: runs(20) },
  );
});

test("a row that would be parsed at once is refused for too many values, wherever they are", async () => {
  const many = JSON.stringify(Object.fromEntries(Array.from({ length: 300_000 }, (_, index) => [index, 1])));
  for (const row of [many, `{"limits":${many}}`, `{"tools":[${many}]}`, `{"tools":[{"a":[1,${many}]}]}`])
    await expect((async () => inSteps(parseInSteps(row), () => Promise.resolve()))()).rejects.toThrow(
      "too many values",
    );
});

test.each(['{"a":', '{"a":"', '{"a":[1', '{"a":1}x', '{"a" 1}', '{"a":1,}', '{"a":[1,]}', "{", '{"a":]}'])(
  "a row that is no JSON is refused: %s",
  async (text) => {
    const [head = "", ...rest] = text.split('{"a"');
    const row = text.includes('{"a"')
      ? `${head}{"pad":"${"x".repeat(300_000)}","a"${rest.join("")}`
      : `${text}${" ".repeat(300_000)}`;
    await expect((async () => inSteps(parseInSteps(row), () => Promise.resolve()))()).rejects.toThrow(SyntaxError);
  },
);
