/// <reference lib="dom" />
import type { Page } from "puppeteer-core";
import { expect } from "vitest";
import { textOf, untilText, useBrowser, watchShifts, withBrowser } from "./browser.ts";
import { startPage } from "./start-page.ts";

const { open } = useBrowser();

const PROGRAM = `let rows = 0;
for await (const row of tools.crm.stream({ n: 1000 })) rows += 1;
return rows;`;

/** Widths of the bars of a stream: in the list of calls, and in the details of the chosen call. */
const widths = (page: Page) =>
  page.evaluate(() =>
    [".call-line .bar.streamed", '[data-part="stream"] .bar'].map((bar) =>
      Number(document.querySelector(bar)?.getAttribute("width")),
    ),
  );

withBrowser("a stream is a bar that grows with its items, and nothing else moves", async () => {
  await using one = await startPage(open);
  const running = one.runtime.execute(PROGRAM, { id: "rows" });
  const { page, problems } = await one.show("rows");
  let views = 0;
  page.on("request", (request) => (views += Number(request.url().includes("/view"))));
  await page.locator('.call-line[data-call="1"][data-items="1000"]').click();
  await page.waitForSelector('[data-part="stream"][role="progressbar"]');
  const shifts = await watchShifts(page);
  const before = await widths(page);
  expect(before[0]).toBe(before[1]);
  const viewsBefore = views;
  one.gate.open();
  await page.waitForSelector('.call-line[data-call="1"][data-items="2000"][data-state="open"]');
  await untilText(page, '[data-part="stream"]', /^stream of 2,000 items, 1\d\d\.\d KiB so far$/);
  const after = await widths(page);
  expect(after[0]).toBeGreaterThan((before[0] ?? 0) * 1.9);
  expect(after[1]).toBe(after[0]);
  expect(views).toBe(viewsBefore);

  const line = '.call-line[data-call="1"]';
  expect(await page.$eval(line, (element) => element.getAttribute("aria-label"))).toMatch(
    /^call 1 of crm\.stream, runs, stream of 2,000 items, 1\d\d\.\d KiB so far$/,
  );
  expect(await page.$eval('[data-part="stream"]', (element) => element.getAttribute("aria-valuetext"))).toMatch(
    /^stream of 2,000 items, 1\d\d\.\d KiB so far$/,
  );
  one.gate.open();
  await page.waitForSelector('.call-line[data-call="1"][data-items="3000"]');
  expect(await shifts()).toEqual([]);
  one.gate.open();
  await running;
  await page.waitForSelector('main[data-state="ended"]');
  await page.waitForSelector('.call-line[data-call="1"][data-items="3000"][data-state="value"]');
  expect(await textOf(page, '[data-part="stream"]')).toMatch(/^stream of 3,000 items, 2\d\d\.\d KiB$/);
  expect(await page.$eval('[data-funnel="fetched"]', (element) => element.getAttribute("data-value"))).toBe(
    await page.$eval(line, (element) => element.getAttribute("data-bytes")),
  );
  expect(problems).toEqual([]);
});
