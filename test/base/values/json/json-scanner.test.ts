import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { prettyJson } from "../../../../page/pretty-json.ts";
import { fieldTexts, JsonScanner, MORE, newCount } from "../../../../src/base/index.ts";
import { anyCharacter } from "../../../support/any-character.ts";

const spaced = fc
  .tuple(fc.jsonValue({ stringUnit: anyCharacter }), fc.constantFrom(undefined, 1, "\t", "\r\n "))
  .map(([value, space]) => JSON.stringify(value, undefined, space));
const anyText = fc.string({ unit: fc.constantFrom(...Array.from('{}[]",:\\a1 ')), maxLength: 40 });

test("a string is searched once for its end, however long a run of backslashes before it is", () => {
  const lengths = [1_000_000, 8_000_000];
  const [short = 0, long = 0] = lengths.map((length) => {
    const text = `"${"a".repeat(length)}${"\\".repeat(2048)}"`;
    const searched = vi.spyOn(String.prototype, "indexOf");
    try {
      new JsonScanner(text).pass(newCount());
      const scanner = new JsonScanner(text);
      while (scanner.next(scanner.at + 16_384) === MORE);
      return searched.mock.calls.length;
    } finally {
      searched.mockRestore();
    }
  });
  expect(long).toBe(short);
});

test("fields of one name and strings without names are found in steps", () => {
  const list = `[${"1,".repeat(100_000)}1]`;
  for (const text of [`{${'"a":1,'.repeat(100_000)}"a":1}`, `{${'"a" '.repeat(100_000)}}`, `{"a":${list},"b":1}`])
    expect([...fieldTexts(text)].length).toBeGreaterThan(2);
  const work = fieldTexts(`{"a":${list},"b":1}`);
  let step = work.next();
  while (!step.done) step = work.next();
  expect(step.value).toEqual(
    new Map([
      ["a", list],
      ["b", "1"],
    ]),
  );
});

test("text over several lines is the same JSON, and a text that is none loses nothing but white space", () => {
  const bare = (text: string) => text.replaceAll(/\s/g, "");
  fc.assert(
    fc.property(fc.oneof(spaced, anyText), (text) => {
      expect(bare(prettyJson(text))).toBe(bare(text));
    }),
  );
});
