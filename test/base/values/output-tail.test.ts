import * as fc from "fast-check";
import { expect, test } from "vitest";
import { OutputTail } from "../../../src/base/index.ts";

test("the end of the output is kept, in whatever pieces it arrives", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.string({ unit: "grapheme-ascii", maxLength: 50 })),
      (most, pieces) => {
        const words = new OutputTail(most);
        for (const piece of pieces) words.add(Buffer.from(piece));
        const all = pieces.join("");
        expect(words.text).toBe(all.slice(-most));
      },
    ),
  );
});
