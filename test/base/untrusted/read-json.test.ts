import * as fc from "fast-check";
import { expect, test } from "vitest";
import { AT_ONCE, plainFault, readJson, asUntrusted } from "../../../src/base/index.ts";

const NONE = { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY };
const READER = { tenant: "test", hold: () => () => {} };

const read = (text: string, bounds: Partial<typeof NONE> = {}) =>
  readJson(asUntrusted(text), { ...NONE, ...bounds }, READER);
const refused = (fault: string) => ({ ok: false, fault });
const parsed = (text: string) => ({ ok: true, value: JSON.parse(text) as unknown });

/** Depth and values of parsed JSON. */
function sizeOf(value: unknown): { depth: number; values: number } {
  if (typeof value !== "object" || value === null) return { depth: 0, values: 1 };
  const parts = Object.values(value).map(sizeOf);
  return {
    depth: 1 + Math.max(0, ...parts.map(({ depth }) => depth)),
    values: 1 + parts.reduce((sum, { values }) => sum + values, 0),
  };
}

test("what is within the bounds is read as JSON.parse reads it, at its exact depth, and no more values are allowed than asked", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), fc.nat(2), async (value, space) => {
      const text = JSON.stringify(value, undefined, space);
      const { depth, values } = sizeOf(JSON.parse(text));
      expect(await read(text)).toEqual(parsed(text));
      expect(await read(text, { depth })).toMatchObject({ ok: true });
      if (depth > 0) expect(await read(text, { depth: depth - 1 })).toEqual(refused("depth"));
      if (values > 1) expect(await read(text, { values: values - 1 })).toEqual(refused("values"));
    }),
  );
});

test("any text is read as JSON.parse reads it, or refused", async () => {
  const piece = fc.constantFrom(" ", "\u0000", ...'[ ] { } , : " \\ \\" 1 a null "a":'.split(" "));
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
      const text = pieces.join("");
      let expected: object = refused("syntax");
      try {
        expected = parsed(text);
      } catch {
        // It is no JSON.
      }
      expect(await read(text)).toEqual(expected);
    }),
  );
});

test("a string over many slices is one value, wherever its escapes are", async () => {
  for (const shift of [0, 1, 2]) {
    const text = `["${"x".repeat(shift)}${String.raw`\"[,`.repeat(100_000)}"]`;
    expect(await read(text, { depth: 1, values: 2 })).toEqual(parsed(text));
  }
});

test.each([AT_ONCE, AT_ONCE + 1])(
  "a text of %i units says why it is no plain JSON, wherever it is read",
  async (length) => {
    for (const [text, fault] of [
      [`[${"1".padEnd(length - 2)}]`, undefined],
      [`[${"1e999".padEnd(length - 2)}]`, "it holds a number that is too large"],
      [`{${'"__proto__":1'.padEnd(length - 2)}}`, "it has a field called __proto__"],
      ["[".repeat(length), "it is nested more than 100 levels deep"],
    ] as const)
      expect(await plainFault(asUntrusted(text), READER)).toBe(fault);
  },
);
