import * as fc from "fast-check";
import { expect, test } from "vitest";
import { openText, sealText } from "../../src/values/sealed-text.ts";

const key = fc.uint8Array({ minLength: 32, maxLength: 32 });

test("a sealed text is opened with its key for its use, and not once anything is changed", () => {
  fc.assert(
    fc.property(key, key, fc.string(), fc.string(), fc.string(), fc.nat(), (own, other, text, use, otherUse, at) => {
      const sealed = sealText(own, text, use);
      expect(openText(own, sealed, use)).toBe(text);
      if (!Buffer.from(own).equals(other)) expect(openText(other, sealed, use)).toBeUndefined();
      if (use !== otherUse) expect(openText(own, sealed, otherUse)).toBeUndefined();
      const bytes = Buffer.from(sealed, "base64url");
      const place = at % bytes.length;
      bytes[place] = (bytes[place] ?? 0) ^ 1;
      expect(openText(own, bytes.toString("base64url"), use)).toBeUndefined();
      expect(openText(own, sealed.slice(0, at % sealed.length), use)).toBeUndefined();
    }),
  );
});

test("a text is sealed otherwise each time", () => {
  const own = new Uint8Array(32);
  expect(sealText(own, "text")).not.toBe(sealText(own, "text"));
});
