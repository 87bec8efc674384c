import { expect } from "vitest";
import { z } from "zod";
import { createRuntime, defineTool, type Runtime } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createMemorySandbox } from "../../src/testing.ts";
import { shoot, untilText, useBrowser, withBrowser } from "./browser.ts";
import { pageServer, TOKEN } from "./page-server.ts";

const { open } = useBrowser();
const common = { description: "d", input: z.looseObject({ n: z.number() }), allowedCallers: ["programmatic"] } as const;

/** Calls that are answered when the test says so. */
function gated() {
  let release: (() => void)[] = [];
  return {
    wait: () => new Promise<void>((resolve) => release.push(resolve)),
    open: () => {
      for (const go of release) go();
      release = [];
    },
    get held() {
      return release.length;
    },
  };
}

async function start() {
  const gate = gated();
  const journal = createMemoryJournal();
  const tools = [
    defineTool({
      ...common,
      name: "crm.orders",
      effect: "read",
      handler: ({ n }) => Array.from({ length: 20 }, (_, id) => ({ id: id + n, units: 3 })),
    }),
    defineTool({
      ...common,
      name: "slow",
      effect: "read",
      handler: async ({ n }) => {
        await gate.wait();
        return n;
      },
    }),
    defineTool({ ...common, name: "bank.pay", effect: "write", approval: "always", handler: ({ n }) => ({ paid: n }) }),
    defineTool({ ...common, name: "echo", effect: "read", handler: (input) => input }),
    defineTool({
      ...common,
      name: "broken",
      effect: "read",
      handler: () => Promise.reject(new Error("It is closed.")),
    }),
  ];
  const runtime: Runtime = await createRuntime({
    tools,
    journal,
    sandbox: createMemorySandbox(),
    approve: () => "later",
    logger: { error: () => {} },
  });
  const server = await pageServer(runtime, journal);
  const at = (route = "") => `${server.url}/#token=${TOKEN}${route}`;
  return {
    runtime,
    gate,
    server,
    at,
    journal,
    /** Opens the page with its key, and goes to an execution. */
    show: async (execution: string, look = {}) => {
      const opened = await open(at(), look);
      await opened.page.waitForSelector("[data-execution]");
      await opened.page.evaluate((id) => {
        location.hash = `#/execution/${encodeURIComponent(id)}`;
      }, execution);
      await opened.page.waitForSelector("main[data-execution]");
      return opened;
    },
    [Symbol.asyncDispose]: async () => {
      gate.open();
      await server[Symbol.asyncDispose]();
      await runtime[Symbol.asyncDispose]();
    },
  };
}

withBrowser("the token is taken out of the address, and without one the page asks for a key", async () => {
  await using one = await start();
  await one.runtime.execute("return 1;", { execution: "e1" });
  const { page, problems } = await open(one.at());
  await page.waitForSelector('[data-execution="e1"][data-state="ended"]');
  expect(page.url()).toBe(`${one.server.url}/#/`);
  expect(problems).toEqual([]);
  const other = await open(one.server.url);
  await other.page.waitForSelector("input[type=password]");
  await other.page.type("input[type=password]", TOKEN);
  await other.page.click("button[type=submit]");
  await other.page.waitForSelector('[data-execution="e1"]');
});

withBrowser("an execution is shown while it runs, and nothing on the page moves", async () => {
  await using one = await start();
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
  await using one = await start();
  const program =
    'const to = "Ann";\nconst paid = await tools.bank.pay({ n: 250, to, iban: "DE02 1203" });\nreturn paid;';
  await one.runtime.execute(program, { execution: "pay" });
  const { page, problems } = await one.show("pay");
  await untilText(page, '[data-approval="1"]', /"iban": "DE02 1203"/);
  await shoot(page, "approval");
  await page.type('[data-approval="1"] input', "checked");
  await page.locator('[data-approval="1"] .allow').click();
  await page.waitForSelector('main[data-state="ended"]');
  await page.waitForSelector('[data-approval="1"][data-state="decided"]');
  await untilText(page, '[data-part="output"]', /"paid":250/);
  await page.locator('[data-call="1"]').click();
  await untilText(page, ".call-details", /allowed.*checked/);
  expect(problems).toEqual([]);
});

withBrowser("what is denied is told to the program, and a decision that came too late is said", async () => {
  await using one = await start();
  await one.runtime.execute("return tools.bank.pay({ n: 1 });", { execution: "pay" });
  const { page } = await one.show("pay");
  await page.waitForSelector('[data-approval="1"]');
  await page.locator('[data-approval="1"] .deny').click();
  await page.waitForSelector('main[data-state="ended"]');
  await untilText(page, '[data-part="output"]', /denied/);
});
