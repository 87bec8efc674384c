import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { apiExtras, PAGE_HEADERS } from "../../src/serve/other-routes.ts";
import { INTEGRATIONS } from "../support/integrations.ts";

const BUILT = "the committed page is the one that its sources and package give: `make page` renews it";
test.skipIf(!INTEGRATIONS)(BUILT, async () => {
  const { buildPage } = await import("../../page/build.js");
  for (const [name, text] of Object.entries(await buildPage()))
    expect(readFileSync(join(import.meta.dirname, "../../page/built", name), "utf8") === text, name).toBe(true);
});

const routes = new Map(apiExtras(() => ({})).map((route) => [route.path, route]));
const given = (path: string) =>
  Promise.resolve(routes.get(path)!.handle(new Request("http://localhost"), undefined as never));

test("its files are given by their paths, and no others", async () => {
  const files = ["/", "/index.html", "/page.js", "/page.css", "/icon.svg"];
  expect([...routes.keys()]).toEqual([...files, "/openapi.json"]);
  for (const path of files) expect((await (await given(path)).bytes()).length, path).toBeGreaterThan(100);
  expect((await given("/")).headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect((await (await given("/page.js")).bytes()).length).toBeGreaterThan(10_000);
});

test("its policy allows no inline script or style, nothing from outside, and no HTML made of text", async () => {
  const policy = PAGE_HEADERS["content-security-policy"] ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("require-trusted-types-for 'script'");
  expect(policy).not.toMatch(/unsafe|http|data:|\*/);
  const html = await (await given("/")).text();
  expect(html).not.toMatch(/\sstyle=|\son\w+=|<style|<script>/);
});
