import * as fc from "fast-check";

const SURROGATES = { from: 0xd800, count: 0x800 };
const LAST = 0x10ffff;

/**
 * Any code point of Unicode, half of them of ASCII, as the unit of texts. `unit: "binary"` of fast-check makes a table of all code points
 * first, which takes longer than most tests.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .oneof(fc.nat(0x7f), fc.nat(LAST - SURROGATES.count))
  .map((nth) => String.fromCodePoint(nth < SURROGATES.from ? nth : nth + SURROGATES.count));
