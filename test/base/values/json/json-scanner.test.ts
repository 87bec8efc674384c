import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { prettyJson } from "../../../../page/pretty-json.ts";
import { fieldTexts, JsonScanner, MORE, newCount, QUOTE } from "../../../../src/base/index.ts";
import { END } from "../../../../src/base/values/json/json-scanner.ts";
import { anyCharacter } from "../../../support/any-character.ts";

const spaced = fc
  .tuple(fc.jsonValue({ stringUnit: anyCharacter }), fc.constantFrom(undefined, 1, "\t", "\r\n "))
  .map(([value, space]) => JSON.stringify(value, undefined, space));
const anyText = fc.string({ unit: fc.constantFrom(...Array.from('{}[]",:\\a1 ')), maxLength: 40 });

/** Each mark as it is written, with what stands before it, its level, and the rest. */
function scanned(
  text: string,
  step = Number.POSITIVE_INFINITY,
): { readonly written: string[]; readonly levels: number[] } {
  const scanner = new JsonScanner(text);
  const written: string[] = [];
  const levels: number[] = [];
  for (;;) {
    const mark = scanner.next(scanner.at + step);
    if (mark === MORE) continue;
    written.push(scanner.between, scanner.written);
    levels.push(scanner.level);
    if (mark === END) return { written, levels };
  }
}

test("no character of any text is lost between its marks, and none is read twice, in steps of any length", () => {
  fc.assert(
    fc.property(fc.oneof(spaced, anyText), fc.integer({ min: 1, max: 9 }), (text, step) => {
      const whole = scanned(text);
      expect(whole.written.join("")).toBe(text);
      expect(scanned(text, step)).toEqual(whole);
    }),
  );
});

test("what is passed at once, in steps of any length, is counted as it is mark by mark", () => {
  fc.assert(
    fc.property(fc.oneof(spaced, anyText), fc.integer({ min: 1, max: 9 }), (text, step) => {
      const { written, levels } = scanned(text);
      const marks = written.filter((_, at) => at % 2 === 1);
      const scanner = new JsonScanner(text);
      const count = newCount();
      while (!scanner.isAtEnd) scanner.pass(count, scanner.at + step);
      expect(count.depth).toBe(Math.max(0, ...levels));
      expect(count.values).toBe(1 + marks.filter((mark) => /^[[{,]$/.test(mark)).length);
      expect(scanner.level).toBe(levels.at(-1));
    }),
  );
});

test("a string ends at the first quotation mark that is not escaped, however many backslashes are before it", () => {
  for (const backslashes of [0, 1, 2, 3, 1023, 1024, 1025, 9000, 9001]) {
    const string = `"x${"\\".repeat(backslashes)}"`;
    const isClosed = backslashes % 2 === 0;
    const scanner = new JsonScanner(isClosed ? `${string} ,"` : string);
    expect(scanner.next()).toBe(isClosed ? QUOTE : END);
    expect(isClosed ? scanner.written : scanner.between).toBe(string);
  }
});

test("a long run of backslashes is read in steps", () => {
  const scanner = new JsonScanner(`"${"\\\\".repeat(500_000)}"`);
  let steps = 1;
  while (scanner.next(scanner.at + 16_384) === MORE) steps += 1;
  expect(steps).toBeGreaterThan(10);
  expect(scanner.isAtEnd).toBe(true);
});

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

test("a very long name counts for many values, and for as many more as it is longer", () => {
  const valuesOf = (length: number, names: number) => {
    const count = newCount();
    new JsonScanner(`{${`"${"a".repeat(length)}":1,`.repeat(names)}"b":1}`).pass(count);
    return count.values - names;
  };
  const [short, long, longer] = [valuesOf(16_000, 10), valuesOf(17_000, 10), valuesOf(170_000, 10)];
  expect(short).toBe(2);
  expect(long).toBeGreaterThan(1000);
  expect(longer).toBeGreaterThan(9 * long);
});
