import * as fc from "fast-check";
import { expect, test } from "vitest";
import { nameOf, storedName } from "../../../../src/fleet/postgres/tables/names.ts";
import { runs } from "../../../support/all-tests.ts";

const name = fc.string({
  unit: fc.constantFrom("a", "\\", "0", "\0", "ü", "😀", "\ud800", "\udfff", "u", "'", '"', "\n"),
});

test("a name comes back as it was, no two are stored alike, and none has what a column of text refuses", () => {
  fc.assert(
    fc.property(name, name, (one, other) => {
      expect(nameOf(storedName(one))).toBe(one);
      expect(storedName(one).isWellFormed() && !storedName(one).includes("\0")).toBe(true);
      if (one !== other) expect(storedName(one)).not.toBe(storedName(other));
    }),
    { numRuns: runs(1000) },
  );
});

test("a name that an index cannot hold is refused with its length", () => {
  expect(() => storedName("é".repeat(1001))).toThrow(expect.objectContaining({ code: "journal_invalid" }));
  expect(storedName("é".repeat(1000))).toHaveLength(1000);
});
