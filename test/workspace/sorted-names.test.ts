import * as fc from "fast-check";
import { expect, test } from "vitest";
import { sortedNames } from "../../src/workspace/sorted-names.ts";
import { runs } from "../support/all-tests.ts";
import { anyCharacter } from "../support/any-character.ts";

test("names are in the order in which an array sorts them", async () => {
  const names = fc.array(fc.string({ maxLength: 3, unit: anyCharacter }), { maxLength: 3000, size: "max" });
  await fc.assert(
    fc.asyncProperty(names, async (given) => {
      expect(await sortedNames(given, async () => {})).toEqual(given.toSorted());
    }),
    { numRuns: runs(30) },
  );
});

test("others get the thread between two steps, also while runs are merged, and an error of theirs ends it", async () => {
  const names = Array.from({ length: 8000 }, (_, index) => String(index));
  let pauses = 0;
  await sortedNames(names, async () => void (pauses += 1));
  expect(pauses).toBeGreaterThanOrEqual(5 * 16);
  const givenUp = () => Promise.reject(new Error("given up"));
  await expect(sortedNames(names, givenUp)).rejects.toThrow("given up");
});
