/// <reference lib="dom" />
import type { Page } from "puppeteer-core";
import { expect } from "vitest";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { textOf, untilText, useBrowser, watchShifts, withBrowser } from "./browser.ts";
import { startProxy } from "./proxy.ts";
import { startPage, TOKEN } from "./start-page.ts";

const { open } = useBrowser();

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
    const { page } = await one.show(await talk(one));
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
  },
);

withBrowser("an address of an execution that is not there says so, and leads to those that are", async () => {
  await using one = await startPage(open);
  const { page, problems } = await one.showRun("return 1;", "here");
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
  expect(problems.splice(0).filter((problem) => !problem.includes("404"))).toEqual([]);
});

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
  const { page } = await one.show("rows");
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
});

/** Goes to another part of the page, as a link does. */
const goTo = (page: Page, hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

withBrowser(
  "the page works below a path of a proxy: the list, what runs, what is decided, and the texts of calls",
  async () => {
    await using one = await startPage(open);
    await using proxy = await startProxy(one.server.url, "/some/path/");
    const program = "const n = await tools.slow({ n: 1 });\nreturn await tools.bank.pay({ n });";
    const running = one.runtime.execute(program, { id: "below" });
    const { page } = await one.open(`${proxy.url}#token=${TOKEN}`);
    await page.waitForSelector('[data-execution="below"][data-state="running"]');
    expect(page.url()).toBe(`${proxy.url}#/`);
    await page.locator('[data-execution="below"] a').click();
    await page.waitForSelector('main[data-execution="below"] [data-call="1"][data-state="open"]');
    one.gate.open();
    await running;
    await page.locator("[data-approval] .allow").click();
    await page.waitForSelector('main[data-state="ended"]');
    await page.locator('[data-call="1"]').click();
    await page.waitForSelector(".call-details pre");
    for (const asked of proxy.asked) expect(asked).toMatch(/^(?:GET|POST) \/some\/path\//);
    expect(await page.evaluate(() => Object.keys(sessionStorage))).toEqual(["portcullis.token /some/path/"]);
  },
);

withBrowser("a running execution is asked for once, and an execution that has ended not again", async () => {
  await using one = await startPage(open);
  await using proxy = await startProxy(one.server.url, "/");
  const running = one.runtime.execute(
    "for (let n = 0; n < 5; n += 1) await tools.slow({ n });\nreturn (await tools.crm.orders({ n: 100 })).length;",
    { id: "once" },
  );
  const { page } = await one.open(`${proxy.url}#token=${TOKEN}`);
  await page.waitForSelector('[data-execution="once"]');
  await goTo(page, "#/execution/once");
  for (let round = 1; round <= 5; round += 1) {
    await page.waitForSelector(`[data-part="calls"][data-count="${round}"]`);
    one.gate.open();
  }
  await running;
  await page.waitForSelector('main[data-state="ended"]');
  const asked = () => proxy.asked.filter((line) => line.includes("/once"));
  expect(asked()).toEqual(["GET /v1/executions/once/view/events"]);
  const line = '.call-line[data-call="6"]';
  await page.locator(line).click();
  await page.waitForSelector(".call-details pre");
  const before = asked().length;
  await goTo(page, "#/");
  await page.waitForSelector('.list-screen [data-execution="once"][data-state="ended"]');
  await goTo(page, "#/execution/once");
  await page.waitForSelector('main[data-execution="once"][data-state="ended"]');
  await page.locator(line).click();
  await page.waitForSelector(".call-details pre");
  expect(asked()).toHaveLength(before);
});

withBrowser("what is typed into a filter is asked for once it is whole, and the field keeps the focus", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return 1; // alphabet", { id: "a" });
  await one.runtime.execute("return 1;", { id: "b" });
  const { page } = await one.open();
  await page.waitForSelector('[data-execution="b"]');
  const asked: string[] = [];
  page.on("request", (request) => {
    const text = new URL(request.url()).searchParams.get("text");
    if (text !== null) asked.push(text);
  });
  await page.type('[data-filter="text"]', "alphabet");
  await page.keyboard.press("Enter");
  await page.waitForSelector('[data-execution="b"]', { hidden: true });
  await expect.poll(() => asked.at(-1)).toBe("alphabet");
  // A busy machine may take long for a letter.
  expect(new Set(asked).size).toBeLessThan(4);
  expect(await page.evaluate(() => document.activeElement?.getAttribute("data-filter"))).toBe("text");
});

withBrowser("another screen has another title and gets the focus, and the tab key goes on in it", async () => {
  await using one = await startPage(open);
  for (const execution of ["a", "b"]) await one.runtime.execute("// Count\nreturn 1;", { id: execution });
  const { page } = await one.open();
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
  await page.waitForSelector(".compare-screen .panels");
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.closest("main") !== null)).toBe(true);
  await goTo("nav a", "Executions · Portcullis");
});

withBrowser("names like __proto__ are calls and fields like others", async () => {
  await using one = await startPage(open);
  const program = `const all = ["__proto__", "constructor", "toString", "hasOwnProperty"];
for (const name of all) try { await tools[name]({ n: 1 }); } catch {}
try { await tools.echo(JSON.parse('{"n":1,"__proto__":{"x":1}}')); } catch {}
return all.length;`;
  const { page } = await one.showRun(program, "__proto__");
  await untilText(page, '[data-part="output"]', /4/);
  expect(await page.evaluate(() => Reflect.get({}, "x") as unknown)).toBeUndefined();
});

withBrowser("hundreds of thousands of invisible characters are shown whole, in few elements", async () => {
  await using one = await startPage(open);
  const program = `await tools.bank.pay({ n: 1, text: "a\\u200b".repeat(100_000) + "end" }); // ${"b\u200b".repeat(5000)}`;
  const { page } = await one.showRun(program, "e1");
  await untilText(page, "[data-approval] .whole", /a\\u200ba\\u200bend/);
  expect((await page.$$("[data-approval] .unsafe")).length).toBeLessThan(1100);
  expect((await textOf(page, "[data-approval] .whole")).length).toBeGreaterThan(7 * 100_000);
  expect((await page.$$('[data-part="program"] .unsafe')).length).toBeLessThan(1100);
  await page.locator("[data-approval] .deny").click();
  await page.waitForSelector('main[data-state="ended"]');
});
