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
  expect(await textOf(page, ".lead")).toMatch(/^RangeError.* 3: No more\.$/);
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

withBrowser(
  "a call that was given up while it waited is drawn as a wait, and the page says why it waits no more",
  async () => {
    await using one = await startPage(open);
    const program =
      "const paid = tools.bank.pay({ n: 1 });\npaid.catch(() => {});\nawait tools.slow({ n: 1 });\nthrow new Error('Enough.');";
    const running = one.runtime.execute(program, { execution: "left" });
    const { page, problems } = await one.show("left");
    await page.waitForSelector('[data-approval="1"][data-state="waiting"]');
    await page.waitForSelector('[data-call="2"][data-state="open"]');
    one.gate.open();
    await running;
    await page.waitForSelector('main[data-state="ended"]');
    await untilText(page, '[data-approval="1"] [role=status]', /^Not decided: the program ended\.$/);
    await page.waitForSelector('.call-line[data-call="1"][data-state="aborted"] .bar.waits');
    expect(await page.$('.call-line[data-call="1"] .bar.aborted')).toBeNull();
    expect(problems).toEqual([]);
  },
);

withBrowser(
  "each of several calls that wait has a way to it in the header, and one that is decided says so",
  async () => {
    await using one = await startPage(open);
    const lines = "Array.from({ length: 40 }, (_, n) => `line ${n}`)";
    await one.runtime.execute(`await Promise.all([1, 2, 3].map((n) => tools.bank.pay({ n, lines: ${lines} })));`, {
      execution: "three",
    });
    const { page, problems } = await one.show("three", { width: 320, height: 640 });
    await page.waitForSelector("[data-approval='3']");
    expect(await inSight(page, ".approvals-ways button")).toEqual([true, true, true]);
    await page.locator(".approvals-ways li:nth-child(3) button").click();
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Input of call 3");
    expect(await inSight(page, "[data-approval='3'] .decide button")).toEqual([true, true]);
    await page.locator("[data-approval='3'] .allow").click();
    await page.waitForSelector('[data-approval="3"][data-state="decided"]');
    const names = await page.$$eval(".approvals-ways button", (all) =>
      all.map((way) => way.getAttribute("aria-label")),
    );
    expect(names).toEqual([
      "Call 1 of bank.pay, waits",
      "Call 2 of bank.pay, waits",
      "Call 3 of bank.pay, waits no more",
    ]);
    expect(problems).toEqual([]);
  },
);

withBrowser("the digest of an input that waits is behind the id of its call", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("await tools.bank.pay({ n: 1 });", { execution: "digest" });
  const { page } = await one.show("digest");
  const digest = "[data-approval] details";
  await page.waitForSelector(digest);
  expect(await page.$eval(`${digest} p`, (text) => text.checkVisibility())).toBe(false);
  await page.locator(`${digest} summary`).click();
  await untilText(page, `${digest} p`, /^SHA-256 of its input: [0-9a-f]{64}$/);
  expect(await page.$eval(`${digest} p`, (text) => text.checkVisibility())).toBe(true);
});

withBrowser("calls beside each other are told with the time that they took together", async () => {
  await using one = await startPage(open);
  const program = "await Promise.all(Array.from({ length: 13 }, (_, n) => tools.slow({ n })));";
  const running = one.runtime.execute(program, { execution: "beside" });
  const { page } = await one.show("beside");
  const group = '.call-line[data-count="13"]';
  await page.waitForSelector(`${group}[data-state="open"]`);
  expect(await textOf(page, `${group} .number`)).toBe("");
  expect(await textOf(page, ".gutter .cost")).toBe("13×runs0 B");
  one.gate.open();
  await running;
  await page.waitForSelector(`${group}[data-state="value"]`);
  const [inAll, whole] = await page.evaluate(
    (line) =>
      [".gutter .cost span", `${line} .number`].map((selector) => document.querySelector(selector)?.textContent),
    group,
  );
  expect(inAll).toMatch(/^[\d.]+ m?s$/);
  expect(whole).toBe(inAll);
  expect(await page.$eval(group, (line) => line.getAttribute("aria-label"))).toMatch(
    /^13 calls of slow, done, [\d.]+ m?s in all, [\d.]+ m?s on average, \d+ B$/,
  );
});

withBrowser("numbers and counts are whole, however long the names beside them", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("for (let n = 0; n < 13; n += 1) await tools.echo({ n });", { execution: "long" });
  const { page } = await one.show("long");
  await page.waitForSelector(".gutter .cost");
  const cut = await page.evaluate(() => {
    const right = (element: Element | null | undefined) => element?.getBoundingClientRect().right ?? Infinity;
    const left = (element: Element | null | undefined) => element?.getBoundingClientRect().left ?? -Infinity;
    const cells = [...document.querySelectorAll(".gutter .cost > *")];
    for (const [index, text] of ["≤ 12,000×", "59 min 59 s", "1023.9 KiB"].entries()) {
      const [cell] = cells.slice(index, index + 1);
      if (cell) cell.textContent = text;
    }
    const edges = cells.map((cell, index) => [
      contentRight(cell),
      index + 1 < cells.length ? left(cells[index + 1]) : right(cell.closest(".gutter")),
    ]);
    const name = document.querySelector(".call-name");
    if (name?.firstElementChild) name.firstElementChild.textContent = "weather.forecast.by.hour.and.place";
    if (name?.lastElementChild) edges.push([contentRight(name.lastElementChild), right(name)]);
    return edges.filter(([end = Infinity, room = 0]) => end > room + 1);

    function contentRight(element: Element): number {
      const range = document.createRange();
      range.selectNodeContents(element);
      return range.getBoundingClientRect().right;
    }
  });
  expect(cut).toEqual([]);
});

for (const width of [1280, 360])
  withBrowser(`no two times on the axis overlap on a page of ${width} pixels`, async () => {
    await using one = await startPage(open);
    const program = `for (let n = 0; n < 3; n += 1) await tools.echo({ n });
await tools.bank.pay({ n: 1 });
await tools.bank.pay({ n: 2 });
for (let n = 0; n < 3; n += 1) await tools.echo({ n });`;
    await one.runtime.execute(program, { execution: "axis" });
    const { page } = await one.show("axis", { width, height: 800 });
    for (const id of ["4", "5"]) await page.locator(`[data-approval="${id}"] .allow`).click();
    await page.waitForSelector('main[data-state="ended"]');
    await page.waitForSelector(".axis .pause-text");
    const overlaps = await page.$$eval(".axis text", (texts) => {
      const boxes = texts.map((text) => text.getBoundingClientRect()).toSorted((a, b) => a.left - b.left);
      return boxes.filter((box, index) => box.left < (boxes[index - 1]?.right ?? -Infinity) || box.right > innerWidth);
    });
    expect(overlaps).toEqual([]);
    const inPauses = await page.$$eval(".axis text:not(.pause-text)", (texts) => {
      const pauses = [...document.querySelectorAll(".axis .pause")].map((pause) => pause.getBoundingClientRect());
      const boxes = texts.map((text) => text.getBoundingClientRect());
      return boxes.filter(({ left, right }) => pauses.some((pause) => left < pause.right && right > pause.left));
    });
    expect(inPauses).toEqual([]);
  });

withBrowser("what did not come has no place once a program has ended on the page", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("await tools.bank.pay({ n: 1 });\nreturn await tools.slow({ n: 7 });", {
    execution: "quiet",
  });
  const { page } = await one.show("quiet");
  await page.locator("[data-approval] .allow").click();
  await page.waitForSelector('[data-call="2"][data-state="open"]');
  await untilText(page, '[data-part="logs"]', /Nothing yet/);
  one.gate.open();
  await page.waitForSelector('main[data-state="ended"]');
  await untilText(page, '[data-part="output"]', /7/);
  expect(await page.$('[data-part="logs"]')).toBeNull();
  expect(await textOf(page, "main")).not.toContain("Nothing yet");
});

withBrowser("while a program runs, what is to come has small places", async () => {
  await using one = await startPage(open);
  const running = one.runtime.execute("return await tools.slow({ n: 1 });", { execution: "small" });
  const { page } = await one.show("small");
  await page.waitForSelector('[data-call="1"][data-state="open"]');
  const heights = await page.$$eval('[data-part="output"] .box, [data-part="logs"] .box, .calls-tree', (all) =>
    all.map((one) => one.getBoundingClientRect().height),
  );
  expect(heights).toEqual([78, 78, 90]);
  one.gate.open();
  await running;
});
