import * as fc from "fast-check";
import { expect, test } from "vitest";
import { occurrences } from "../../src/values/occurrences.ts";

test("the places of a text in another are found as by split, and an empty text occurs nowhere", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 30 });
  fc.assert(
    fc.property(letters, letters, fc.nat(40), (text, part, from) => {
      const found = [...occurrences(text, part, from)];
      const pieces = part === "" ? [] : text.slice(from).split(part).slice(0, -1);
      let at = from;
      expect(found).toEqual(pieces.map((piece) => (at += piece.length + part.length) - part.length));
    }),
  );
});
