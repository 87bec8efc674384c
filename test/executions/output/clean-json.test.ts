import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cleanJson, cleanLongJson } from "../../../src/executions/output/clean-json.ts";
import { cleanText } from "../../../src/base/texts.ts";
import { Lane } from "../../../src/base/index.ts";
import { runs } from "../../support/all-tests.ts";

const PARTS = '\u0000,\u001b[2J,\b,\f,\r,\r\n,\n,\t,\u007f,\u202e,\u{e0041},\ud800,\\,",\\u001b,n,ü,😀'.split(",");
const hostile = fc.array(fc.constantFrom(...PARTS)).map((parts) => parts.join(""));

/** A value with all its texts cleaned, names too. */
function cleaned(value: unknown): unknown {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [cleanText(name), cleaned(one)]));
}

test("parsed, it is the value with every text and name in it cleaned", () => {
  fc.assert(
    fc.property(
      fc.oneof(hostile, fc.array(hostile), fc.dictionary(hostile, fc.oneof(hostile, fc.constant(1)))),
      (value) => {
        const text = cleanJson(JSON.stringify(value));
        expect(JSON.parse(text)).toEqual(cleaned(value));
        expect(cleanText(text)).toBe(text);
        expect(text).not.toContain("\n");
      },
    ),
    { numRuns: runs(500) },
  );
});

test("what is clean stays as it is", () => {
  const text = JSON.stringify({ "ü\n": ["\t", '"', "\\", 1, null, "😀"] });
  expect(cleanJson(text)).toBe(text);
});

test("a long text is cleaned slice by slice as it is cleaned at once, wherever a slice ends", async () => {
  const unit = fc.oneof(hostile, fc.constantFrom("\ufe0f\ufe0f", "\u0085", "\\\\", "\r\n\r"));
  const text = fc.tuple(hostile, fc.array(unit, { minLength: 1, maxLength: 4 }));
  await fc.assert(
    fc.asyncProperty(text, async ([start, units]) => {
      const part = `${units.join("")}x`;
      const json = JSON.stringify(start + part.repeat(Math.ceil(140_000 / part.length)));
      expect((await cleanLongJson(json, new Lane("t"))) === cleanJson(json)).toBe(true);
    }),
    { numRuns: runs(30) },
  );
});
