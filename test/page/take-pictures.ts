/*
 * Takes the pictures of the page that README and docs show, of the examples: `make page-pictures`. They are looked at before
 * they are committed. `FOLDER` takes them to another place.
 */
import { join } from "node:path";
import { launch } from "puppeteer-core";
import { startScenes } from "./scenes.ts";

const { FOLDER = join(import.meta.dirname, "../../docs/pictures"), CHROMIUM = "/usr/bin/chromium" } = process.env;

await using scenes = await startScenes();
const browser = await launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });

/** Each screen: its address, and what has to be there. */
const SCREENS: Readonly<Record<string, readonly [hash: string, shown: string]>> = {
  execution: ["#/execution/flights", ".call-line"],
  list: ["#/", ".list-row"],
  conversation: [`#/execution/${scenes.conversation}`, ".turns"],
  comparison: ["#/compare/flights/flights-again", "[data-compare]"],
  approval: ["#/execution/refunds", "[data-approval]"],
};

for (const [name, [hash, shown]] of Object.entries(SCREENS))
  for (const width of [1280, 768, 360])
    for (const scheme of ["light", "dark"]) {
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      await page.setViewport({ width, height: width < 640 ? 640 : 900 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.goto(scenes.url);
      await page.waitForSelector(".list-row");
      await page.evaluate((to) => void (location.hash = to), hash);
      await page.waitForSelector(shown);
      await page.screenshot({ path: join(FOLDER, `${name}-${width}-${scheme}.webp`), type: "webp", quality: 6 });
      await context.close();
    }
await browser.close();
