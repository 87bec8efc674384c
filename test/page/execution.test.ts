/// <reference lib="dom" />
import type { Page } from "puppeteer-core";
import { expect } from "vitest";
import { textOf, untilText, useBrowser, withBrowser } from "./browser.ts";
import { startPage } from "./start-page.ts";

const { open } = useBrowser();

/** What is in sight at this size, of the elements of a selector. */
const inSight = (page: Page, selector: string) =>
  page.$$eval(selector, (all) =>
    all.map((element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const [x, y] = [(left + right) / 2, (top + bottom) / 2];
      const isInside = left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
      return isInside && element.contains(document.elementFromPoint(x, y));
    }),
  );

withBrowser(
  "Allow is beside Deny and both in sight on a small phone, however long the input, all of which can be read",
  async () => {
    await using one = await startPage(open);
    const lines = "Array.from({ length: 60 }, (_, n) => `line ${n}`)";
    await one.runtime.execute(`await tools.bank.pay({ n: 1, lines: ${lines} });`, { execution: "long" });
    const { page } = await one.show("long", { width: 360, height: 640 });
    await page.waitForSelector("[data-approval]");
    const buttons = () => inSight(page, ".decide button");
    expect(await buttons()).toEqual([true, true]);
    const [allow, deny] = await page.$$eval(".decide button", (all) =>
      all.map((one) => one.getBoundingClientRect().top),
    );
    expect(allow).toBe(deny);
    // The last line of the input is above the buttons once it is scrolled to.
    await page.$eval(".whole", (input) => input.scrollTo(0, input.scrollHeight));
    const { left, room, isAbove } = await page.$eval(".approval", (approval) => {
      const input = approval.querySelector(".whole");
      const foot = approval.querySelector(".approval-foot");
      const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = input ?? {};
      const bottom = input?.getBoundingClientRect().bottom ?? Infinity;
      return {
        left: Math.round(scrollHeight - scrollTop - clientHeight),
        room: clientHeight,
        isAbove: bottom <= (foot?.getBoundingClientRect().top ?? 0),
      };
    });
    expect({ left, isAbove }).toEqual({ left: 0, isAbove: true });
    expect(room).toBeGreaterThan(120);
    expect(await buttons()).toEqual([true, true]);
  },
);

withBrowser("of several calls that wait, the buttons in sight are below the input that they decide", async () => {
  await using one = await startPage(open);
  const lines = "Array.from({ length: 40 }, (_, n) => `line ${n}`)";
  const program = `await Promise.all([1, 2, 3].map((n) => tools.bank.pay({ n, lines: ${lines} })));`;
  await one.runtime.execute(program, { execution: "three" });
  const { page } = await one.show("three", { width: 360, height: 640 });
  await page.waitForSelector("[data-approval='3']");
  const inSightOf = () =>
    page.$$eval("[data-approval]", (all) =>
      all.flatMap((one) => {
        const [title, foot] = ["h3", ".decide button"].map((part) => one.querySelector(part)?.getBoundingClientRect());
        const list = one.parentElement?.getBoundingClientRect();
        const isIn = (box?: DOMRect) => box && list && box.top >= list.top - 1 && box.bottom <= innerHeight;
        return isIn(foot) ? [[one.getAttribute("data-approval"), isIn(title)]] : [];
      }),
    );
  expect(await inSightOf()).toEqual([["1", true]]);
  await page.$eval("[data-approval='2']", (one) => one.scrollIntoView());
  expect(await inSightOf()).toEqual([["2", true]]);
});

withBrowser(
  "at 320 pixels nothing is wider than the page, and a line of code has at least 20 columns in sight",
  async () => {
    await using one = await startPage(open);
    const program = `const rows = await tools.crm.orders({ n: 1 }); // ${"x".repeat(80)}\nreturn rows.map(({ id, units }) => ({ id, units, note: "${"y".repeat(60)}" }));`;
    await one.runtime.execute(program, { execution: "narrow" });
    const { page } = await one.show("narrow", { width: 320, height: 640 });
    await page.waitForSelector(".call-line[data-call]");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    const columns = await page.$eval(".source-line code", (code) => {
      const range = document.createRange();
      range.selectNodeContents(code);
      const width = range.getBoundingClientRect().width / (code.textContent ?? "").length;
      return (innerWidth - range.getBoundingClientRect().left) / width;
    });
    expect(columns).toBeGreaterThanOrEqual(20);
  },
);

withBrowser("the page says what ran and what came of it, and shows no part that is empty", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("// Count the orders\nreturn 7;", { execution: "bare" });
  await one.runtime.execute("// Pay Ann\nawait tools.echo({ n: 1 });\nthrow new RangeError('No more.');", {
    execution: "thrown",
  });
  const { page } = await one.show("bare");
  expect(await textOf(page, "h1")).toBe("Count the orders");
  expect(await page.title()).toBe("Count the orders · completed");
  expect(await page.$$eval("main h2", (all) => all.map(({ firstChild }) => firstChild?.textContent))).toEqual([
    "Given to the model",
    "Program",
  ]);
  await page.evaluate(() => (location.hash = "#/execution/thrown"));
  await untilText(page, "h1", /^Pay Ann$/);
  expect(await textOf(page, ".lead")).toBe("RangeError in line 3: No more.");
  await page.waitForSelector('[data-part="calls"]');
  expect(await page.$('[data-part="logs"]')).toBeNull();
});

withBrowser("a limit is shown, in words, if half of it was used, and no other", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("for (let n = 0; n < 6; n += 1) await tools.echo({ n });", {
    execution: "near",
    limits: { calls: 10 },
  });
  const { page } = await one.show("near");
  expect(await textOf(page, '[data-limit="calls"]')).toBe("calls6 of 10");
  expect((await page.$$("[data-limit]")).length).toBe(1);
});

withBrowser("the wait for a person is drawn as a wait, and the axis tells how long it was", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return tools.bank.pay({ n: 1 });", { execution: "waits" });
  const { page } = await one.show("waits");
  await page.waitForSelector('.call-line[data-state="waiting"] .bar.waits');
  await page.locator("[data-approval] .allow").click();
  await page.waitForSelector('main[data-state="ended"]');
  await page.waitForSelector('.call-line[data-state="value"] .bar.waits');
  await page.waitForSelector('.call-line[data-state="value"] .bar.value');
  expect(await textOf(page, ".axis .pause-text")).toMatch(/^[\d.]+ m?s$/);
});
