import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleGlobals } from "../../bridge/globals/bundle.js";

test("the committed bundle is the one that its sources and packages give: `make globals` renews it", async () => {
  for (const [name, text] of Object.entries(await bundleGlobals()))
    expect(readFileSync(join(import.meta.dirname, "../../bridge/guest", name), "utf8") === text, name).toBe(true);
});

test("the licence of every bundled package is with the bundle, and ships with it", () => {
  const licences = readFileSync(join(import.meta.dirname, "../../bridge/guest/globals-licences.txt"), "utf8");
  for (const name of [
    "@exodus/bytes",
    "base64-js",
    "buffer",
    "ieee754",
    "punycode",
    "tr46",
    "webidl-conversions",
    "whatwg-url",
  ])
    expect(licences).toMatch(new RegExp(`^${name} \\d`, "m"));
});
