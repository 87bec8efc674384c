/// <reference lib="dom" />
import type { Page } from "puppeteer-core";
import { expect } from "vitest";
import { scriptedModel } from "../../src/testing.ts";
import { shoot, textOf, untilText, useBrowser, withBrowser } from "./browser.ts";
import { startPage } from "./start-page.ts";

const { open } = useBrowser();

const isWide = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);

const LONG = `${"Flights are late. ".repeat(200)}That is all.`;

/** A conversation with a direct call, a program and a long answer. */
async function talk(one: Awaited<ReturnType<typeof startPage>>): Promise<string> {
  const model = scriptedModel([
    {
      text: "I count the orders.",
      programs: [
        "// Orders of two days\nlet n = 0;\nfor (const day of [1, 2]) n += (await tools.crm.orders({ n: day })).length;\nreturn n;",
      ],
    },
    () => ({ text: LONG }),
  ]);
  return (await one.runtime.agent({ model, task: "How many orders?", programs: "local" })).execution;
}

withBrowser(
  "a conversation has its answer and funnel first, then what was said in its order, whole, with programs in a line each",
  async () => {
    await using one = await startPage(open);
    const { page, problems } = await one.show(await talk(one));
    expect(
      await page.$$eval(".panels > section h2", (titles) => titles.map((title) => title.firstChild?.textContent)),
    ).toEqual(["Answer", "What reached the model", "Conversation"]);
    expect(await textOf(page, '[data-part="output"]')).toContain("That is all.");
    const said = await page.$$eval(".thread .spoken", (texts) => texts.map((text) => text.textContent));
    expect(said).toEqual(["How many orders?", "I count the orders.", LONG]);
    // The answer is above already.
    expect(await textOf(page, ".thread details.repeated > summary")).toBe("The answer, as above");
    expect(await page.$$eval(".thread details[open]", (all) => all.length)).toBe(0);
    const [thread, panel] = await page.evaluate(() =>
      [".thread", ".funnel"].map((part) => document.querySelector(part)?.getBoundingClientRect().width),
    );
    expect(thread).toBe(panel);
    const program = "details[data-execution] > summary";
    expect(await textOf(page, program)).toMatch(
      /^Program Orders of two days 2 calls fetched [\d.]+ \w+, 2 B given to the model$/,
    );
    expect(await page.$("details[data-execution] .panels")).toBeNull();
    await page.locator(program).click();
    await untilText(page, 'details [data-part="program"]', /crm\.orders/);
    expect(problems).toEqual([]);
  },
);

for (const [width, scheme] of [
  [320, "light"],
  [360, "dark"],
] as const)
  withBrowser(
    `the list, a conversation and a comparison are not wider than ${width} pixels, in the ${scheme} scheme`,
    async () => {
      await using one = await startPage(open);
      const program = (n: number) =>
        `// ${"A program with a long title ".repeat(4)}\nreturn (await tools.echo({ n: ${n}, text: "${"x".repeat(200)}" })).n;`;
      await one.runtime.execute(program(1), {
        execution: "a-rather-long-id-of-an-execution-without-any-spaces-in-it-0123456789",
      });
      await one.runtime.execute(program(22), { execution: "b" });
      await one.runtime.execute("await tools.bank.pay({ n: 1 });", { execution: "pay" });
      const conversation = await talk(one);
      const { page, problems } = await open(one.url, { width, height: 640, scheme });
      await page.waitForSelector(".list-row.waiting");
      expect(await isWide(page)).toBe(false);
      await shoot(page, `list-${width}`);
      await page.evaluate(`location.hash = "#/execution/${conversation}"`);
      await page.waitForSelector(".thread");
      expect(await isWide(page)).toBe(false);
      await page.locator("details[data-execution] > summary").click();
      await page.waitForSelector("details .panels");
      expect(await isWide(page)).toBe(false);
      await shoot(page, `conversation-${width}`);
      await page.evaluate(
        'location.hash = "#/compare/a-rather-long-id-of-an-execution-without-any-spaces-in-it-0123456789/b"',
      );
      await untilText(page, "[data-first-difference]", /Both make call 1 to echo, but with different inputs/);
      expect(await isWide(page)).toBe(false);
      await shoot(page, `comparison-${width}`);
      expect(problems).toEqual([]);
    },
  );

withBrowser(
  "the bars of the list stand below each other on a narrow page, and long times beside them are whole",
  async () => {
    await using one = await startPage(open);
    await one.runtime.execute("return 1;", { execution: "good" });
    await one.runtime.execute("throw new Error('No.');", { execution: "bad" });
    const { page } = await open(one.url, { width: 320, height: 640 });
    await page.waitForSelector('[data-execution="bad"][data-state="ended"]');
    const bars = await page.$$eval(".list-took", (all) =>
      all.map((took) => {
        const number = took.querySelector(".number");
        if (number) number.textContent = "59 min 59 s";
        const { left, width } = took.querySelector("svg")?.getBoundingClientRect() ?? new DOMRect();
        return { left, width, isWhole: number !== null && number.scrollWidth <= number.clientWidth };
      }),
    );
    expect(bars).toHaveLength(2);
    expect(bars[0]).toEqual(bars[1]);
    expect(bars[0]).toMatchObject({ isWhole: true });
    expect(await isWide(page)).toBe(false);
  },
);

withBrowser("a comparison has what differs first, and what is the same is folded", async () => {
  await using one = await startPage(open);
  const program = (n: number) => `const rows = await tools.crm.orders({ n: ${n} });\nreturn rows.length;`;
  await one.runtime.execute(program(1), { execution: "a" });
  await one.runtime.execute(program(2), { execution: "b" });
  const { page, problems } = await one.show("a");
  await page.evaluate('location.hash = "#/compare/a/b"');
  await untilText(page, "[data-first-difference]", /^Both make call 1 to crm\.orders, but with different inputs\.$/);
  await untilText(page, "section", /The first line that differs line 1/);
  const measures = await page.$$eval('[data-part="differences"] tbody tr', (rows) =>
    rows.every((row) => row.lastElementChild?.textContent !== ""),
  );
  expect(measures).toBe(true);
  await page.locator("details.same > summary").click();
  await untilText(page, "details.same tbody tr", /crm\.orders: calls11/);
  expect(problems).toEqual([]);
});

withBrowser("a comparison gives what the models were given lines of its own, as JSON", async () => {
  await using one = await startPage(open);
  for (const n of [1, 2])
    await one.runtime.execute(`return { n: ${n}, rows: await tools.crm.orders({ n: ${n} }) };`, { execution: `${n}` });
  const { page } = await one.show("1");
  await page.evaluate('location.hash = "#/compare/1/2"');
  await untilText(page, '.compare-screen [data-part="output"] pre', /^\{\n {2}"n": 2,\n {2}"rows": /);
});

withBrowser("an address of an execution that is not there says so, and leads to those that are", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return 1;", { execution: "here" });
  const { page, problems } = await one.show("here");
  for (const [hash, title] of [
    ["#/execution/gone", "This execution is not here"],
    ["#/compare/here/gone", "One of these executions is not here"],
  ]) {
    await page.evaluate((to) => (location.hash = to ?? ""), hash);
    await untilText(page, "h1", new RegExp(`^${title}$`));
    expect(await textOf(page, "main")).not.toContain("runtime.");
    await page.locator('main a[href="#/"]').click();
    await page.waitForSelector('[data-execution="here"]');
  }
  // Chromium tells of each answer 404 itself.
  expect(problems.filter((problem) => !problem.includes("404"))).toEqual([]);
});
