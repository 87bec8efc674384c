import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs, testOfAll } from "../support/all-tests.ts";
import { anyCharacter } from "../support/any-character.ts";
import { INTEGRATIONS } from "../support/integrations.ts";

const BUNDLED = "the committed bundle is the one that its sources and packages give: `make globals` renews it";
test.skipIf(!INTEGRATIONS)(BUNDLED, async () => {
  const { bundleGlobals } = await import("../../bridge/globals/bundle.js");
  for (const [name, text] of Object.entries(await bundleGlobals()))
    expect(readFileSync(join(import.meta.dirname, "../../bridge/guest", name), "utf8") === text, name).toBe(true);
});

test("the licence of every bundled package is with the bundle, and ships with it", () => {
  const licences = readFileSync(join(import.meta.dirname, "../../bridge/guest/globals-licences.txt"), "utf8");
  const names = "@exodus/bytes base64-js buffer ieee754 punycode tr46 webidl-conversions whatwg-url";
  for (const name of names.split(" ")) expect(licences).toMatch(new RegExp(`^${name} \\d`, "m"));
});

// ---- the same as node's own ------------------------------------------------------------------------------------------

interface Parts {
  readonly url: { readonly URL: typeof URL; readonly URLSearchParams: typeof URLSearchParams };
  readonly text: { readonly TextEncoder: typeof TextEncoder; readonly TextDecoder: typeof TextDecoder };
  readonly buffer: { readonly Buffer: typeof Buffer };
  readonly web: { readonly atob: typeof atob; readonly btoa: typeof btoa };
}

/** Loads a part as guest.js does. */
function loadPart<Name extends keyof Parts>(part: Name): Parts[Name] {
  const bundle = readFileSync(join(import.meta.dirname, "../../bridge/guest/globals.js"), "utf8");
  const load = (name: string): unknown => {
    const text = bundle.split(`\n//# part ${name}\n`)[1]?.split("\n//# part ")[0] ?? "";
    const module = { exports: {} };
    // oxlint-disable-next-line typescript/no-implied-eval -- So does the guest.
    const evaluate = new Function("module", "require", "timers", text) as (...values: unknown[]) => void;
    evaluate(module, (path: string) => load(path.slice("part:".length)), {});
    return module.exports;
  };
  return load(part) as Parts[Name];
}

const hrefOf = (Type: typeof URL, text: string) => {
  try {
    return new Type(text, "https://base.example/x/y?z").href;
  } catch (error) {
    return (error as Error).name;
  }
};

testOfAll("URL gives what node's own gives", () => {
  const { URL: Bundled } = loadPart("url");
  const host = fc.stringMatching(/^[A-Za-z0-9.:@%\-_]{1,20}$/);
  const text = fc.oneof(
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    host.map((name) => `http://${name}/`),
    fc.string({ unit: "grapheme", maxLength: 12 }).map((path) => `https://a.example/${path}?${path}#${path}`),
    fc.string({ unit: "binary-ascii", maxLength: 20 }),
    fc.constantFrom(
      "https://Bücher.example",
      "http://xn--bcher-kva.example",
      "http://[::1]:80",
      "http://0x7f.1",
      "mailto:a@b",
    ),
  );
  fc.assert(
    fc.property(text, (one) => {
      expect(hrefOf(Bundled, one)).toBe(hrefOf(URL, one));
    }),
    { numRuns: runs(500) },
  );
});

test("texts, bytes, base64 and hex give what node's own give", () => {
  const { TextEncoder: Encoder, TextDecoder: Decoder } = loadPart("text");
  const { Buffer: Bundled } = loadPart("buffer");
  const { atob: decode, btoa: encode } = loadPart("web");
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.uint8Array(), (text, bytes) => {
      expect([...new Encoder().encode(text)]).toEqual([...new TextEncoder().encode(text)]);
      expect(new Decoder().decode(bytes)).toBe(new TextDecoder().decode(bytes));
      // For bytes that are not UTF-8 the package gives other numbers of U+FFFD.
      expect(Bundled.from(text).toString()).toBe(Buffer.from(text).toString());
      for (const encoding of ["base64", "base64url", "hex", "latin1", "utf16le"] as const) {
        expect(Bundled.from(bytes).toString(encoding)).toBe(Buffer.from(bytes).toString(encoding));
        const encoded = Buffer.from(bytes).toString(encoding);
        expect([...Bundled.from(encoded, encoding)]).toEqual([...Buffer.from(encoded, encoding)]);
      }
      const binary = String.fromCharCode(...bytes);
      expect(encode(binary)).toBe(btoa(binary));
      expect(decode(btoa(binary))).toBe(binary);
    }),
  );
});
