/// <reference lib="dom" />
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
