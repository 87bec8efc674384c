/// <reference lib="dom" />
import type { Page } from "puppeteer-core";
import { expect } from "vitest";
import { textOf, untilText, useBrowser, withBrowser } from "./browser.ts";
import { startPage } from "./start-page.ts";

const { open } = useBrowser();

/** Three tasks of people, each begun in the list, with the number of clicks that it takes. */
function counting(page: Page) {
  let clicks = 0;
  return {
    click: async (selector: string) => {
      clicks += 1;
      await page.locator(selector).click();
    },
    get clicks() {
      return clicks;
    },
  };
}

withBrowser("why a program was slow is seen with one click: its slowest line is marked whole", async () => {
  await using one = await startPage(open);
  const program = "await tools.echo({ n: 1 });\nawait tools.slow({ n: 1 });\nreturn 1;";
  const running = one.runtime.execute(program, { execution: "slow" });
  const { page } = await open(one.url);
  await page.waitForSelector('[data-execution="slow"]');
  one.gate.open();
  await running;
  const person = counting(page);
  await person.click('[data-execution="slow"] a');
  await page.waitForSelector('main[data-state="ended"] .heat');
  const marked = await page.$$eval(".source-line:has(.heat)", (lines) =>
    lines.map((line) => {
      const { bottom } = line.getBoundingClientRect();
      const share = parseFloat(line.querySelector<HTMLElement>(".heat")?.style.width ?? "0");
      return [line.getAttribute("data-line"), share > 99, bottom < innerHeight];
    }),
  );
  expect(marked).toEqual([
    ["1", false, true],
    ["2", true, true],
  ]);
  expect(person.clicks).toBe(1);
});

withBrowser("a call is decided with two clicks", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return tools.bank.pay({ n: 250 });", { execution: "pay" });
  await one.runtime.execute("return 1;", { execution: "later" });
  const { page } = await open(one.url);
  await page.waitForSelector("[data-execution]");
  const person = counting(page);
  await person.click('[data-state="waiting"] a');
  await untilText(page, "[data-approval] .whole", /"n": 250/);
  await person.click("[data-approval] .allow");
  await page.waitForSelector('main[data-state="ended"]');
  expect(person.clicks).toBe(2);
});

withBrowser(
  "further calls of a tool are allowed with the one that is decided, in words, and the policy's reason is shown",
  async () => {
    await using one = await startPage(open);
    const reason = "No echoes <b>here</b>.";
    const program =
      "await tools.echo({ n: 0 }).catch(() => {}); for (const n of [1, 2, 3, 4]) await tools.bank.pay({ n }); return 1;";
    await one.runtime.execute(program, {
      execution: "loop",
      policy: ({ tool }) => (tool === "echo" ? { deny: reason } : "ask"),
    });
    const { page } = await open(one.url);
    await page.waitForSelector("[data-execution]");
    await page.locator('[data-state="waiting"] a').click();
    await untilText(page, "[data-approval] .whole", /"n": 1/);
    expect(await textOf(page, "[data-approval] [data-policy]")).toBe("The policy asks.");
    await page.locator('[data-approval] input[type="number"]').fill("2");
    await page.locator("[data-approval] .allow").click();
    // The call after the granted ones is asked about again.
    await untilText(page, '[data-approval="5"] .whole', /"n": 4/);
    await page.$eval('[data-call="1"]', (line) => (line as HTMLElement).click());
    await untilText(page, ".call-details .facts", /No echoes <b>here<\/b>\./);
    const records = await one.runtime.execution("loop").records();
    const decisions = records.flatMap((record) => (record.type === "decision" ? [record] : []));
    expect(decisions.map(({ call, grant, granted }) => [call, grant?.calls, granted?.left.calls])).toEqual([
      ["2", 2, undefined],
      ["3", undefined, 1],
      ["4", undefined, 0],
    ]);
  },
);

withBrowser("two runs are compared with three clicks", async () => {
  await using one = await startPage(open);
  for (const execution of ["first", "second"]) await one.runtime.execute("return tools.echo({ n: 1 });", { execution });
  const { page } = await open(one.url);
  await page.waitForSelector("[data-execution]");
  const person = counting(page);
  await person.click('[data-execution="first"] a');
  await person.click(".compare-with summary");
  await person.click('.compare-with a[href$="/second"]');
  await page.waitForSelector("[data-compare]");
  expect(await textOf(page, "h1")).toBe("Two executions of one program");
  expect(person.clicks).toBe(3);
});
