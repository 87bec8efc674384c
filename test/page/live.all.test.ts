import type { Page } from "puppeteer-core";
import { expect } from "vitest";
import { TOKEN, startPage } from "./start-page.ts";
import { startProxy } from "./proxy.ts";
import { useBrowser, withBrowser } from "./browser.ts";

const { open } = useBrowser();

/** Goes to another part of the page, as a link does. */
const goTo = (page: Page, hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

withBrowser(
  "the page works below a path of a proxy: the list, what runs, what is decided, and the texts of calls",
  async () => {
    await using one = await startPage(open);
    await using proxy = await startProxy(one.server.url, "/some/path/");
    const program = "const n = await tools.slow({ n: 1 });\nreturn await tools.bank.pay({ n });";
    const running = one.runtime.execute(program, { id: "below" });
    const { page, problems } = await open(`${proxy.url}#token=${TOKEN}`);
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
    expect(problems).toEqual([]);
  },
);

withBrowser("a running execution is asked for once, and an execution that has ended not again", async () => {
  await using one = await startPage(open);
  await using proxy = await startProxy(one.server.url, "/");
  const running = one.runtime.execute(
    "for (let n = 0; n < 5; n += 1) await tools.slow({ n });\nreturn (await tools.crm.orders({ n: 100 })).length;",
    { id: "once" },
  );
  const { page, problems } = await open(`${proxy.url}#token=${TOKEN}`);
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
  expect(problems).toEqual([]);
});
