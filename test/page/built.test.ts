import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PAGE_HEADERS, pageFile } from "../../src/serve/page/page-files.ts";
import { INTEGRATIONS } from "../support/integrations.ts";

const BUILT = "the committed page is the one that its sources and package give: `make page` renews it";
test.skipIf(!INTEGRATIONS)(BUILT, async () => {
  const { buildPage } = await import("../../page/build.js");
  for (const [name, text] of Object.entries(await buildPage()))
    expect(readFileSync(join(import.meta.dirname, "../../page/built", name), "utf8") === text, name).toBe(true);
});

test("its files are given by their paths, and no others", () => {
  expect(pageFile("/")?.type).toBe("text/html; charset=utf-8");
  expect(pageFile("/page.js")?.body.length).toBeGreaterThan(10_000);
  for (const path of [
    "",
    "/x",
    "page.js",
    "/../package.json",
    "/%2e%2e/package.json",
    "/__proto__",
    "//",
    "/licences.txt",
  ])
    expect(pageFile(path), path).toBeUndefined();
});

test("its policy allows no inline script or style, nothing from outside, and no HTML made of text", () => {
  const policy = PAGE_HEADERS["content-security-policy"] ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("require-trusted-types-for 'script'");
  expect(policy).not.toMatch(/unsafe|http|data:|\*/);
  const html = Buffer.from(pageFile("/")?.body ?? []).toString();
  expect(html).not.toMatch(/\sstyle=|\son\w+=|<style|<script>/);
});
