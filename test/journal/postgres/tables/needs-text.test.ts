import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isNeed, needsOf, needsText } from "../../../../src/journal/postgres/tables/needs-text.ts";
import { runs } from "../../../support/all-tests.ts";

const name = fc.string({ unit: fc.constantFrom("a", "\\", "\0", "ü", "\ud800", "\n", "\r"), maxLength: 200 });
const what = fc.constantFrom("tools" as const, "sandbox" as const, "protocol" as const, "model" as const);

test("what a worker lacks comes back with the names that are kept, whatever they are", () => {
  fc.assert(
    fc.property(what, fc.array(name, { maxLength: 40 }), (need, names) => {
      const stored = needsText({ what: need, names });
      expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(8192);
      const kept = names.slice(0, 20).map((one) => one.slice(0, 50).replaceAll("\n", " "));
      const found = needsOf(stored);
      expect(found?.what).toBe(need);
      expect(found?.names.map((one) => one.slice(0, 50))).toEqual(kept);
    }),
    { numRuns: runs(1000) },
  );
});

test("any other text of a row is no need", () => {
  for (const text of [null, 7, "", "\n", "toolsa", "Tools\na", "__proto__"]) expect(needsOf(text)).toBeUndefined();
  expect(isNeed("constructor")).toBe(false);
});
