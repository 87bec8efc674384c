import { expect } from "vitest";
import { PAGE_HEADERS } from "../../src/serve/page/page-files.ts";
import { scriptedModel } from "../../src/testing.ts";
import { shoot, textOf, untilText, useBrowser, withBrowser } from "./browser.ts";
import { startProxy } from "./proxy.ts";
import { startPage, TOKEN } from "./start-page.ts";

const { open } = useBrowser();
withBrowser("the token is taken out of the address, and without one the page asks for a key", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return 1;", { execution: "e1" });
  const { page, problems } = await open(one.url);
  await page.waitForSelector('[data-execution="e1"][data-state="ended"]');
  expect(page.url()).toBe(`${one.server.url}/#/`);
  expect(problems).toEqual([]);
  for (const path of ["/", "/page.js", "/page.css", "/icon.svg"])
    expect(Object.fromEntries((await fetch(one.server.url + path)).headers), path).toMatchObject(PAGE_HEADERS);
  const other = await open(one.server.url);
  await other.page.waitForSelector("input[type=password]");
  await other.page.type("input[type=password]", TOKEN);
  await other.page.click("button[type=submit]");
  await other.page.waitForSelector('[data-execution="e1"]');
});

withBrowser("an execution is shown while it runs, and nothing on the page moves", async () => {
  await using one = await startPage(open);
  const running = one.runtime.execute(
    `for (let n = 0; n < 5; n += 1) { console.log("round", n); await Promise.all([tools.slow({ n }), tools.crm.orders({ n })]); }\nreturn "all";`,
    { execution: "live" },
  );
  const { page, problems } = await one.show("live");
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
  for (let round = 1; round <= 5; round += 1) {
    await page.waitForSelector(`[data-part="calls"][data-count="${round * 2}"]`);
    await untilText(page, '[data-part="logs"]', new RegExp(`round ${round - 1}`));
    one.gate.open();
  }
  await running;
  await page.waitForSelector('main[data-state="ended"]');
  await untilText(page, '[data-part="output"]', /"all"/);
  expect(await page.evaluate(() => (globalThis as unknown as { shifts: string[] }).shifts)).toEqual([]);
  expect(await page.$eval('[data-funnel="returned"]', (element) => element.getAttribute("data-value"))).not.toBeNull();
  expect(problems).toEqual([]);
  await shoot(page, "live");
});

withBrowser("a call is decided on the page, with its whole input shown, and the program goes on", async () => {
  await using one = await startPage(open);
  const program =
    'const to = "Ann";\nconst paid = await tools.bank.pay({ n: 250, to, iban: "DE02 1203" });\nreturn paid;';
  await one.runtime.execute(program, { execution: "pay" });
  const { page, problems } = await one.show("pay");
  await untilText(page, '[data-approval="1"]', /"iban": "DE02 1203"/);
  expect(await textOf(page, '[data-approval="1"] .changes')).toContain("It changes something each time.");
  await shoot(page, "approval");
  await page.type('[data-approval="1"] input', "checked");
  await page.locator('[data-approval="1"] .allow').click();
  await page.waitForSelector('main[data-state="ended"]');
  await page.waitForSelector('[data-approval="1"][data-state="decided"]');
  await untilText(page, '[data-part="output"]', /"paid": 250/);
  await page.locator('[data-call="1"]').click();
  await untilText(page, ".call-details", /allowed.*checked/);
  expect(problems).toEqual([]);
});

withBrowser("what is denied is told to the program, and the page says how it ended", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return tools.bank.pay({ n: 1 });", { execution: "pay" });
  const { page } = await one.show("pay");
  await page.waitForSelector('[data-approval="1"]');
  await page.locator('[data-approval="1"] .deny').click();
  await page.waitForSelector('main[data-state="ended"]');
  await untilText(page, '[data-part="output"]', /denied/);
});

withBrowser("a call of a program of a conversation is decided on the conversation's page", async () => {
  await using one = await startPage(open);
  const model = scriptedModel([{ programs: ["return tools.bank.pay({ n: 9 });"] }, () => ({ text: "Paid." })]);
  const { execution } = await one.runtime.agent({ model, task: "Pay.", programs: "local" });
  const { page, problems } = await one.show(execution);
  await untilText(page, "[data-approval] .whole", /"n": 9/);
  await page.locator("[data-approval] .allow").click();
  await page.waitForSelector('[data-approval][data-state="decided"]');
  expect(await one.runtime.resumeAgent(execution, { model })).toMatchObject({ ending: { type: "answered" } });
  await page.waitForSelector('main[data-state="ended"]');
  await untilText(page, '[data-part="output"]', /Paid\./);
  expect(problems).toEqual([]);
});

withBrowser("a decision that came too late is answered by the server's sentence", async () => {
  await using one = await startPage(open);
  await using proxy = await startProxy(one.server.url, "/");
  await one.runtime.execute("return tools.bank.pay({ n: 1 });", { execution: "late" });
  const { page } = await open(`${proxy.url}#token=${TOKEN}`);
  await page.waitForSelector('[data-execution="late"]');
  await page.evaluate('location.hash = "#/execution/late"');
  await page.waitForSelector("[data-approval]");
  // The page does not hear of the other decision.
  proxy.deafTo = "GET";
  await one.runtime.decide("late", { "1": { allow: false, by: "ann" } });
  await page.locator("[data-approval] .allow").click();
  await untilText(page, "[data-approval] [role=alert]", /ann/);
});
