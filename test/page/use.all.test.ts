/// <reference lib="dom" />
import type { ElementHandle } from "puppeteer-core";
import { expect } from "vitest";
import { useBrowser, withBrowser } from "./browser.ts";
import { startPage } from "./start-page.ts";

const { open } = useBrowser();

withBrowser("what is typed into a filter is asked for once it is whole, and the field keeps the focus", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return 1; // alphabet", { id: "a" });
  await one.runtime.execute("return 1;", { id: "b" });
  const { page } = await open(one.url);
  await page.waitForSelector('[data-execution="b"]');
  const asked: string[] = [];
  page.on("request", (request) => {
    const text = new URL(request.url()).searchParams.get("text");
    if (text !== null) asked.push(text);
  });
  await page.type('[data-filter="text"]', "alphabet");
  await page.keyboard.press("Enter");
  await page.waitForSelector('[data-execution="b"]', { hidden: true });
  await expect.poll(() => asked.at(-1)).toBe("alphabet");
  // A busy machine may take long for a letter.
  expect(new Set(asked).size).toBeLessThan(4);
  expect(await page.evaluate(() => document.activeElement?.getAttribute("data-filter"))).toBe("text");
});

withBrowser("another screen has another title and gets the focus, and the tab key goes on in it", async () => {
  await using one = await startPage(open);
  for (const execution of ["a", "b"]) await one.runtime.execute("// Count\nreturn 1;", { id: execution });
  const { page } = await open(one.url);
  await page.waitForSelector('[data-execution="a"]');
  expect(await page.title()).toBe("Executions · Portcullis");
  const goTo = async (selector: string, title: string) => {
    await page.locator(selector).click();
    await page.waitForFunction((wanted) => document.title === wanted, {}, title);
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
  };
  await goTo('[data-execution="a"] a', "Count · completed");
  await page.locator(".compare-with summary").click();
  await goTo('.compare-with a[href$="/b"]', "Comparison · Count");
  await page.waitForSelector(".compare-screen .panels");
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.closest("main") !== null)).toBe(true);
  await goTo("nav a", "Executions · Portcullis");
});

withBrowser("all that the tab key reaches has a role and a name, also what scrolls", async () => {
  await using one = await startPage(open);
  const program = `${"// A line\n".repeat(60)}console.log("a");\nfor (let n = 0; n < 11; n += 1) await tools.crm.orders({ n });\nfor (let n = 0; n < 11; n += 1) await tools.echo({ n });`;
  await one.runtime.execute(program, { id: "tabs" });
  const { page } = await one.show("tabs");
  await page.waitForSelector(".call-line");
  const reached: string[] = [];
  for (let presses = 0; presses < 20; presses += 1) {
    await page.keyboard.press("Tab");
    const element = await page.evaluateHandle(() => document.activeElement ?? document.body);
    const node = await page.accessibility.snapshot({
      root: element.asElement() as ElementHandle,
      interestingOnly: false,
    });
    if (await element.evaluate((one) => one === document.body)) break;
    reached.push(`${node?.role}: ${node?.name}`);
  }
  expect(reached.filter((one) => /^(?:generic|none|undefined)|: (?:undefined)?$/.test(one))).toEqual([]);
  expect(reached).toContain("region: Source of the program, with its calls");
  expect(reached.some((one) => one.startsWith("tree: Calls over time"))).toBe(true);
});
