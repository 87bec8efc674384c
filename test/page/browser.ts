/// <reference lib="dom" />
import { existsSync } from "node:fs";
import { type Browser, launch, type Page } from "puppeteer-core";
import { afterAll, beforeAll, test } from "vitest";

/** Where Debian's package puts it; another one may be named in the environment. */
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** Runs tests that need a browser; without one they are skipped, and say why. */
export const withBrowser = existsSync(CHROMIUM) ? test : (test.skip as typeof test);
if (!existsSync(CHROMIUM))
  process.stderr.write(
    `Tests of the page are skipped: there is no ${CHROMIUM}. Install it: apt-get install chromium\n`,
  );

export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
}

/** A page, with what went wrong on it. */
export interface Opened {
  readonly page: Page;
  /** Errors of scripts, violations of the policy, dialogs, requests to other hosts. */
  readonly problems: string[];
}

let launched: Promise<Browser> | undefined;
let browser: Browser | undefined;

/** Starts Chromium for the tests of a process, which ends with it. Each file closes its own pages. */
export function useBrowser(): { readonly open: (url: string, look?: Look) => Promise<Opened> } {
  beforeAll(async () => {
    if (!existsSync(CHROMIUM)) return;
    browser = await (launched ??= launch({
      executablePath: CHROMIUM,
      // It ends with its pipe, also if the process is killed.
      pipe: true,
      // Root has no user namespaces to give to its sandbox. The pages come from these tests alone.
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    }));
  }, 60_000);
  afterAll(async () => {
    for (const context of browser?.browserContexts() ?? [])
      if (context !== browser?.defaultBrowserContext()) await context.close();
  });
  return { open };
}

async function open(url: string, { width = 1280, height = 900, scheme = "light" }: Look = {}): Promise<Opened> {
  if (!browser) throw new Error("There is no browser.");
  const page = await (await browser.createBrowserContext()).newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`error: ${String(error)}`));
  // Chromium reports what the policy of a page forbids as an error.
  page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol !== "file:" && origin !== new URL(url).origin) problems.push(`request: ${request.url()}`);
  });
  // The bound of the suite.
  page.setDefaultTimeout(60_000);
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url);
  return { page, problems };
}

/** Waits until the page has an element, and gives the text of it. */
export async function textOf(page: Page, selector: string): Promise<string> {
  const found = await page.waitForSelector(selector);
  return (await found?.evaluate((element) => element.textContent)) ?? "";
}

/** Waits until the text of an element matches. */
export async function untilText(page: Page, selector: string, pattern: RegExp): Promise<void> {
  await page.waitForFunction(
    (wanted, source, flags) =>
      [...document.querySelectorAll(wanted)].some((element) =>
        new RegExp(source, flags).test(element.textContent ?? ""),
      ),
    {},
    selector,
    pattern.source,
    pattern.flags,
  );
}

/** Notes every element of the page that moves from now on. Returns what tells which did. */
export async function watchShifts(page: Page): Promise<() => Promise<readonly string[]>> {
  await page.evaluate(() => {
    const shifts: string[] = [];
    Object.assign(globalThis, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as unknown as {
        readonly sources: readonly { readonly node: Node | null }[];
      }[])
        shifts.push(...entry.sources.map(({ node }) => `${node?.parentElement?.className}: ${node?.textContent}`));
    }).observe({ type: "layout-shift" });
  });
  return () => page.evaluate(() => (globalThis as unknown as { shifts: string[] }).shifts);
}
