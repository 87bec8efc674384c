/// <reference lib="dom" />
import type { Page } from "puppeteer-core";
import { expect } from "vitest";
import { slowness } from "../support/slowness.ts";
import { shoot, useBrowser, withBrowser } from "./browser.ts";
import { startPage } from "./start-page.ts";

const { open } = useBrowser();

/** Makes 10,000 calls, most of them equal. */
const MANY = `const all = await Promise.all(Array.from({ length: 9990 }, (_, n) => tools.crm.orders({ n })));
for (let n = 0; n < 9; n += 1) await tools.echo({ n });
try { await tools.broken({ n: 1 }); } catch {}
return all.length;`;

const PROMISED_MS = 3000;

/** Goes to the execution, and tells how long it takes until its calls are there, in milliseconds. */
const timeToOpen = (page: Page) =>
  page.evaluate(async () => {
    location.hash = "#/";
    while (!document.querySelector(".list-row")) await new Promise((resolve) => requestAnimationFrame(resolve));
    const since = performance.now();
    location.hash = "#/execution/many";
    while (!document.querySelector('[data-part="calls"][data-count="10000"] .call-line'))
      await new Promise((resolve) => requestAnimationFrame(resolve));
    return performance.now() - since;
  });

withBrowser(
  "10,000 calls open within three seconds, equal ones as one row, and scroll with few elements",
  async () => {
    await using one = await startPage(open);
    const report = await one.runtime.execute(MANY, {
      execution: "many",
      limits: { runningMs: 60_000, wallMs: 60_000 },
    });
    expect(report.outcome).toMatchObject({ type: "completed" });
    const { page, problems } = await open(one.url);
    let took = Infinity;
    // Another process on the machine may have taken the time.
    for (let tries = 0; tries < 3 && took > PROMISED_MS; tries += 1)
      took = (await timeToOpen(page)) / slowness("clock");
    process.stdout.write(`The page of 10,000 calls opened in ${Math.round(took)} ms.\n`);
    expect(took).toBeLessThan(PROMISED_MS);
    await page.waitForSelector('.call-line[data-count="9990"] rect');
    await shoot(page, "many");
    await page.locator('.call-line[data-count="9990"]').click();
    await page.waitForSelector('[role=treeitem][aria-setsize="10001"]');
    expect((await page.$$(".call-line")).length).toBeLessThan(60);
    await page.$eval(".calls-tree .rows", (rows) => rows.scrollTo(0, rows.scrollHeight));
    await page.waitForSelector('.call-line[data-call="10000"][data-state="failed"]');
    expect((await page.$$(".call-line")).length).toBeLessThan(60);
    expect(problems).toEqual([]);
  },
  90_000,
);
