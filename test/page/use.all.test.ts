/// <reference lib="dom" />
import type { ElementHandle } from "puppeteer-core";
import { expect } from "vitest";
import { scriptedModel } from "../../src/testing.ts";
import { textOf, untilText, useBrowser, withBrowser } from "./browser.ts";
import { startPage, TOKEN } from "./start-page.ts";

const { open } = useBrowser();

withBrowser("what is typed into a filter is asked for once it is whole, and the field keeps the focus", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return 1; // alphabet", { execution: "a" });
  await one.runtime.execute("return 1;", { execution: "b" });
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
  expect(asked.at(-1)).toBe("alphabet");
  // A busy machine may take long for a letter.
  expect(new Set(asked).size).toBeLessThan(4);
  expect(await page.evaluate(() => document.activeElement?.getAttribute("data-filter"))).toBe("text");
});

withBrowser(
  "a filter says what it looks in, has states in words, and the bars of all rows have one scale",
  async () => {
    await using one = await startPage(open);
    await one.runtime.execute("return 1;", { execution: "program" });
    const { execution } = await one.runtime.agent({ model: scriptedModel([{ text: "Hello." }]), task: "Say hello." });
    const { page } = await open(one.url);
    await page.waitForSelector(`[data-execution="${execution}"][data-state="ended"]`);
    expect(
      await page.$$eval(".filters label", (labels) => labels.map((label) => label.firstChild?.textContent)),
    ).toEqual(["Task, program or id", "Tool", "State"]);
    expect(await page.$$eval(".filters option", (options) => options.map((option) => option.textContent))).toEqual([
      "all",
      "waiting",
      "running or interrupted",
      "ended",
      "not read, because it is large",
      "unreadable",
    ]);
    const whole = await page.$$eval(
      ".list-took .bar",
      (bars) => bars.filter((bar) => Number(bar.getAttribute("width")) === 100).length,
    );
    expect(whole).toBe(1);
    await page.select('[data-filter="state"]', "running");
    await untilText(page, ".nothing", /^No execution is running or interrupted\./);
  },
);

withBrowser("another screen has another title and gets the focus, and the tab key goes on in it", async () => {
  await using one = await startPage(open);
  for (const execution of ["a", "b"]) await one.runtime.execute("// Count\nreturn 1;", { execution });
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
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.closest("main") !== null)).toBe(true);
  await goTo("nav a", "Executions · Portcullis");
});

withBrowser("what waits stands first in the list, however old it is", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("await tools.bank.pay({ n: 1 });", { execution: "old" });
  for (const execution of ["b", "c"]) await one.runtime.execute("return 1;", { execution });
  const { page } = await open(one.url);
  await page.waitForSelector('[data-execution="c"]');
  const ids = await page.$$eval("[role=listitem]", (rows) => rows.map((row) => row.getAttribute("data-execution")));
  expect(ids[0]).toBe("old");
  expect(ids).toHaveLength(3);
  await untilText(page, ".list-count", /^3 executions, 1 of them waiting$/);
});

withBrowser("all that the tab key reaches has a role and a name, also what scrolls", async () => {
  await using one = await startPage(open);
  const program = `${"// A line\n".repeat(60)}console.log("a");\nfor (let n = 0; n < 11; n += 1) await tools.crm.orders({ n });\nfor (let n = 0; n < 11; n += 1) await tools.echo({ n });`;
  await one.runtime.execute(program, { execution: "tabs" });
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

withBrowser(
  "a page without a key asks for one, says why another one is refused, and goes on with a valid one",
  async () => {
    await using one = await startPage(open);
    await one.runtime.execute("return 1", { execution: "seen" });
    const { page } = await open(new URL("/", one.url).href);
    const give = async (key: string) => {
      await page.waitForSelector("form.problem input");
      await page.type("form.problem input", key);
      await Promise.all([page.waitForNavigation(), page.click("form.problem button")]);
    };
    await untilText(page, "form.problem", /^This server needs a key\./);
    expect(await textOf(page, "main")).not.toMatch(/Loading|execution/);
    await give("none-that-the-server-has");
    await untilText(page, "form.problem", /^The server refuses the key of this tab\. .*no valid key/);
    await give(TOKEN);
    await page.waitForSelector('[data-execution="seen"]');
  },
);
