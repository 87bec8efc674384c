import * as fc from "fast-check";
import { expect, test } from "vitest";
import { measure, readPlainData } from "../../../../src/base/index.ts";
import { checkJson } from "../../../../src/base/values/json/check-json.ts";
import { runs } from "../../../support/all-tests.ts";
import { anyCharacter } from "../../../support/any-character.ts";

const lists = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const objects = (levels: number) => '{"a":'.repeat(levels) + "1" + "}".repeat(levels);
const refused = (reason: string) => ({ ok: false, reason });
const TOO_DEEP = refused("it is nested more than 100 levels deep");

/** Both readers refuse it for this reason: the one that parses, and the one for long texts that does not. */
function expectRefused(text: string, reason: string): void {
  expect([readPlainData(text), checkJson(text)]).toEqual([refused(reason), reason]);
}

test.each(['{"constructor":1,"prototype":[],"hasOwnProperty":{}}', '{"__proto":1,"proto__":"__proto__"}'])(
  "%s is plain data",
  (text) => {
    expect(readPlainData(text)).toEqual({ ok: true, value: JSON.parse(text) });
  },
);

test("any JSON is read as JSON.parse reads it", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCharacter }), fc.constantFrom(0, 1, "\t"), (value, space) => {
      const text = JSON.stringify(value, null, space);
      if (!text.includes("__proto__")) expect(readPlainData(text)).toEqual({ ok: true, value: JSON.parse(text) });
    }),
  );
});

const NO_JSON = ["", " ", "undefined", "{'a':1}", "NaN", '{"a":1}{"b":2}', "[1,]", '"a', '"a\\"', "]", "]]]]{{"];
test.each([...NO_JSON, '"\\', '["a', '"a\nb"'])("%j is no JSON", (text) => {
  expectRefused(text, "it is not JSON");
});

test.each(["1e400", "-1e400", `[1,${"9".repeat(400)}]`, '{"a":{"b":[[1E+309]]}}'])(
  "%s holds a number that would be read as infinite, and is not plain data",
  (text) => {
    expectRefused(text, "it holds a number that is too large");
  },
);

test("a value nested a hundred levels deep is plain data, and one nested deeper is not", () => {
  for (const nested of [lists, objects]) {
    expect(readPlainData(nested(100))).toMatchObject({ ok: true });
    expectRefused(nested(101), TOO_DEEP.reason);
  }
});

test("nesting that would exhaust a stack is found before it is parsed", () => {
  expect(readPlainData(`[1,{"wide":${lists(1_000_000)}}]`)).toEqual(TOO_DEEP);
  expect(readPlainData("[".repeat(1_000_000))).toEqual(TOO_DEEP);
});

test("brackets and commas within strings and names are no nesting and no values", () => {
  const text = JSON.stringify({ [lists(500)]: `\\"${"[{,".repeat(500)}\\`, b: ["\\", '"', "]"] });
  expect(readPlainData(text, 6)).toEqual({ ok: true, value: JSON.parse(text) });
});

test.each([
  ["[]", 2],
  ["[1,2,3]", 4],
  ['{"a":1,"b":{"c":2}}', 4],
  [`[${"[],".repeat(99)}[]]`, 201],
])("what holds more values than are allowed is not parsed: %s holds at most %i", (text, values) => {
  expect(readPlainData(text, values)).toMatchObject({ ok: true });
  expect(readPlainData(text, values - 1)).toEqual(refused(`it holds more than ${values - 1} values`));
});

test("names that V8 tells apart by their length alone count for ever more values, and other long texts for one", () => {
  const long = (index: number) => JSON.stringify("x".repeat(17_000) + String(1000 + index));
  const valuesOf = (count: number, between: string) =>
    measure(`{${Array.from({ length: count }, (_, index) => `${long(index)}${between}${long(index)}`).join()}}`).values;
  expect([valuesOf(1, ":"), valuesOf(2, " \n:")]).toEqual([66, 195]);
  expect(valuesOf(50, ":")).toBeGreaterThan(65_536);
  expect(measure(`[${long(1)},${long(2)}]`).values).toBe(3);
  expect(measure(`{"x":${long(1)},"y":${long(2)}}`).values).toBe(3);
});

test.each([
  '{"__proto__":1}',
  '{"__proto__":{"a":1}}',
  '[[{"a":{"b":[{"__proto__":null}]}}]]',
  '{"a":1,"__proto__":[]}',
  '{"\\u005f_proto__":1}',
])("a field called __proto__ is found wherever it is, however it is written: %s", (text) => {
  expectRefused(text, "it has a field called __proto__");
});

test("the reader for long texts accepts what parsing accepts, but for numbers of very many digits", () => {
  const written = ['"a"', "null", '"__proto__"', '"\\u005f_proto__"', "1e999", "\\u00zz", "\u0001"];
  const piece = fc.constantFrom(...Array.from('[]{},: \t\n"\\truefalsnl0123456789.-+eE'), ...written);
  const text = fc.oneof(
    fc.json(),
    fc.array(piece, { maxLength: 24 }).map((parts) => parts.join("")),
    // A valid text with one character changed.
    fc.tuple(fc.json(), fc.nat(), piece).map(([json, at, one]) => {
      const place = at % (json.length + 1);
      return json.slice(0, place) + one + json.slice(place + 1);
    }),
  );
  fc.assert(
    fc.property(text, (one) => {
      expect(checkJson(one) === undefined).toBe(readPlainData(one).ok);
    }),
    { numRuns: runs(5000) },
  );
  expect(checkJson("1".repeat(2000))).toBe("it holds a number of more than 1024 characters");
});
