import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cleanText, cutCleaned, cutMiddle, INSET, insetText } from "../../../src/base/index.ts";
import { anyCharacter } from "../../support/any-character.ts";

test("of a text of any length little more than what is shown of it is cleaned", () => {
  let cleaned = 0;
  const clean = (text: string) => {
    cleaned += text.length;
    return insetText(text);
  };
  const { text, isCut } = cutCleaned("\u202e\n".repeat(5_000_000), clean, 1000, INSET);
  expect(isCut).toBe(true);
  expect(cleaned).toBeLessThanOrEqual(1000);
  expect(Buffer.byteLength(text)).toBeLessThan(1100);
});

test("whatever a text is, what is shown of its ends begins and ends as the whole does, once it is clean", () => {
  const texts = fc.string({ unit: anyCharacter, maxLength: 200 });
  fc.assert(
    fc.property(texts, fc.integer({ min: 8, max: 250 }), (text, allowed) => {
      const whole = cleanText(text);
      const { text: shown, isCut } = cutCleaned(text, cleanText, allowed, "");
      if (!isCut) expect(shown).toBe(whole);
      if (!isCut) return;
      const [head = "", tail = ""] = shown.split(/\n… \d+ bytes left out …\n/);
      expect(whole.startsWith(head)).toBe(true);
      expect(whole.endsWith(tail)).toBe(true);
      expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeLessThanOrEqual(allowed);
      if (text.length <= allowed) expect(shown).toBe(cutMiddle(whole, allowed));
    }),
  );
});
