import { expect } from "vitest";
import { textOf, untilText, useBrowser, withBrowser } from "./browser.ts";
import { startPage } from "./start-page.ts";

const { open } = useBrowser();

withBrowser("names like __proto__ are calls and fields like others", async () => {
  await using one = await startPage(open);
  const program = `const all = ["__proto__", "constructor", "toString", "hasOwnProperty"];
for (const name of all) try { await tools[name]({ n: 1 }); } catch {}
try { await tools.echo(JSON.parse('{"n":1,"__proto__":{"x":1}}')); } catch {}
return all.length;`;
  await one.runtime.execute(program, { id: "__proto__" });
  const { page, problems } = await one.show("__proto__");
  await untilText(page, '[data-part="output"]', /4/);
  expect(await page.evaluate(() => Reflect.get({}, "x") as unknown)).toBeUndefined();
  expect(problems).toEqual([]);
});

withBrowser("hundreds of thousands of invisible characters are shown whole, in few elements", async () => {
  await using one = await startPage(open);
  const program = `await tools.bank.pay({ n: 1, text: "a\\u200b".repeat(100_000) + "end" }); // ${"b\u200b".repeat(5000)}`;
  await one.runtime.execute(program, { id: "e1" });
  const { page, problems } = await one.show("e1");
  await untilText(page, "[data-approval] .whole", /a\\u200ba\\u200bend/);
  expect((await page.$$("[data-approval] .unsafe")).length).toBeLessThan(1100);
  expect((await textOf(page, "[data-approval] .whole")).length).toBeGreaterThan(7 * 100_000);
  expect((await page.$$('[data-part="program"] .unsafe')).length).toBeLessThan(1100);
  await page.locator("[data-approval] .deny").click();
  await page.waitForSelector('main[data-state="ended"]');
  expect(problems).toEqual([]);
});
