import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeptSecrets } from "../../src/sources/kept-secrets.ts";
import { withPlainEscapes } from "../../src/base/untrusted/readers.ts";
import { runs } from "../support/all-tests.ts";

const SECRET = `p+/=: "ß'<&>(x)!`;

describe("a secret is taken out of a text", () => {
  test.each([
    ["as it is", SECRET],
    ["in JSON", JSON.stringify(SECRET).slice(1, -1)],
    ["in JSON of PHP", JSON.stringify(SECRET).slice(1, -1).replaceAll("/", "\\/")],
    ["in an address", encodeURIComponent(SECRET)],
    ["in an address, in small letters", encodeURIComponent(SECRET).replaceAll(/%../g, (one) => one.toLowerCase())],
    ["in a form", new URLSearchParams({ a: SECRET }).toString().slice(2)],
  ])("%s", async (_, form) => {
    const secrets = new KeptSecrets([SECRET], 4);
    expect(secrets.takenFrom(`a ${form} b`)).toBe("a [secret] b");
    expect((await secrets.takenFromBytes(Buffer.from(`a ${form} b`, "utf8"))).toString()).toBe("a [secret] b");
    expect((await secrets.takenFromBytes(Buffer.from(`a ${form} b`, "latin1"))).toString()).toBe("a [secret] b");
  });
});

test("a text of any length has what a short one has", async () => {
  const parts = fc.array(fc.constantFrom("2024", "20", "24", '"', "x".repeat(100)), { maxLength: 30_000, size: "max" });
  await fc.assert(
    fc.asyncProperty(parts, async (all) => {
      const secrets = new KeptSecrets(["2024", 'a"b'], 4);
      const text = all.join("");
      expect(await secrets.takenFromWhole(text)).toBe(secrets.takenFrom(text));
    }),
    { numRuns: runs(20) },
  );
});

test("wherever a text is cut, no three characters of a secret are left at its edges", () => {
  const secret = "0123456789abcdef";
  const secrets = new KeptSecrets([secret], 4);
  const text = `<${secret}>`;
  for (let place = 0; place <= text.length; place += 1) {
    expect(secrets.takenFrom(text.slice(0, place), { end: true })).not.toMatch(/012/);
    expect(secrets.takenFrom(text.slice(place), { start: true })).not.toMatch(/def/);
  }
});

test("whatever the secrets are, none is left, and a text without them stays as it is", () => {
  const value = fc.string({ unit: fc.constantFrom("a", "b", "[", "secret", '"', "/"), minLength: 4, maxLength: 12 });
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), fc.array(value), (values, words) => {
      const secrets = new KeptSecrets(values, 4);
      const text = words.join("");
      const cleaned = secrets.takenFrom(text);
      if (!values.some((one) => text.includes(one)) && !/[\\%&+]/.test(text)) expect(cleaned).toBe(text);
      for (const one of values) expect(cleaned.replaceAll("[secret]", "\n")).not.toContain(one);
    }),
    { numRuns: runs(100) },
  );
});

test("JSON with plain escapes is the same JSON", () => {
  const escaped = (text: string) =>
    text.replaceAll(/[ -~]/g, (one) => `\\u00${one.charCodeAt(0).toString(16).padStart(2, "0")}`);
  expect(withPlainEscapes(`"${escaped("sk-1/2+3")}"`)).toBe('"sk-1/2+3"');
  expect(withPlainEscapes('"a\\/b\\\\/c\\\\u0041"')).toBe('"a/b\\\\/c\\\\u0041"');
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.boolean(), (text, all) => {
      const json = all ? `"${escaped(text.replaceAll(/[^ -~]/g, ""))}"` : JSON.stringify(text).replaceAll("/", "\\/");
      expect(JSON.parse(withPlainEscapes(json))).toEqual(JSON.parse(json));
    }),
    { numRuns: runs(100) },
  );
});
