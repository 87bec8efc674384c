/// <reference lib="dom" />
import { expect } from "vitest";
import { useBrowser, withBrowser } from "./browser.ts";
import { manyCalls, startPage } from "./start-page.ts";

const { open } = useBrowser();

/** Ten times the calls may take ten times as long to open, and no more. */
const MOST_RATIO = 10;
const ROUNDS = 3;
const LIMITS = { cpuMs: 300_000, wallMs: 300_000 };

/** Opens an execution on a page that has nothing of it, and resolves with how long its calls take, in milliseconds. */
async function timeToOpen(url: string, calls: number): Promise<number> {
  const { page } = await open(url);
  await page.waitForSelector(".list-row");
  const took = await page.evaluate((count) => {
    const since = performance.now();
    location.hash = `#/execution/many-${count}`;
    return new Promise<number>((resolve) => {
      const observer = new MutationObserver(() => {
        if (!document.querySelector(`[data-part="calls"][data-count="${count}"] .call-line`)) return;
        observer.disconnect();
        resolve(performance.now() - since);
      });
      observer.observe(document.body, { subtree: true, childList: true, attributes: true });
    });
  }, calls);
  await page.close();
  return took;
}

withBrowser(
  "10,000 calls open in no more than ten times what 1,000 take",
  async () => {
    await using one = await startPage(open);
    for (const calls of [1000, 10_000]) {
      const execution = `many-${calls}`;
      const { outcome } = await one.runtime.execute(manyCalls(calls), { id: execution, limits: LIMITS });
      expect(outcome.type).toBe("completed");
    }
    const least = async (calls: number) => {
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) times.push(await timeToOpen(one.url, calls));
      return Math.min(...times);
    };
    const [few, many] = [await least(1000), await least(10_000)];
    process.stdout.write(`1,000 calls opened in ${few.toFixed(0)} ms, 10,000 in ${many.toFixed(0)} ms\n`);
    expect(many / few).toBeLessThan(MOST_RATIO);
  },
  300_000,
);
