/*
 * Takes the pictures of the page that README and docs show, of the examples: `make page-pictures`. They are looked at before
 * they are committed. `FOLDER` and `TYPE=png` take them to another place; `ONLY` names others, `WIDTHS` selects by width.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, type Page } from "puppeteer-core";
import { startScenes } from "./scenes.ts";

const {
  FOLDER = join(import.meta.dirname, "../../docs/pictures"),
  TYPE = "webp",
  ONLY = "execution,list,conversation,comparison,approval",
  WIDTHS,
  CHROMIUM,
} = process.env;
mkdirSync(FOLDER, { recursive: true });

await using scenes = await startScenes();
const browser = await launch({ executablePath: CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

/** Each screen: its address, what has to be there, and what is done before. */
const SCREENS: Readonly<
  Record<string, readonly [hash: string, shown: string, before?: (page: Page) => Promise<void>]>
> = {
  execution: ["#/execution/flights", ".call-line"],
  broken: ["#/execution/broken", ".call-line"],
  decided: ["#/execution/decided", ".call-line"],
  list: ["#/", ".list-row"],
  conversation: [`#/execution/${scenes.conversation}`, ".turns"],
  comparison: ["#/compare/flights/flights-again", "[data-compare]"],
  approval: ["#/execution/refunds", "[data-approval]"],
};

const widths = (WIDTHS ?? "1280,768,360").split(",").map(Number);
for (const [name, [hash, shown, before]] of Object.entries(SCREENS).filter(([one]) => ONLY.split(",").includes(one)))
  for (const width of widths)
    for (const scheme of ["light", "dark"]) {
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      await page.setViewport({ width, height: width < 640 ? 640 : 900 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.goto(scenes.url);
      await page.waitForSelector(".list-row");
      await page.evaluate((to) => void (location.hash = to), hash);
      await page.waitForSelector(shown);
      await before?.(page);
      const path = join(FOLDER, `${name}-${width}-${scheme}`);
      const whole = process.env["WHOLE"] !== undefined;
      await page.screenshot(
        TYPE === "png"
          ? { path: `${path}.png`, fullPage: whole }
          : { path: `${path}.webp`, type: "webp", quality: 6, fullPage: whole },
      );
      await context.close();
    }
await browser.close();
