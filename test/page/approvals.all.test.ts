/// <reference lib="dom" />
import type { Page } from "puppeteer-core";
import { expect } from "vitest";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { journalWith } from "../support/journal-with.ts";
import { textOf, untilText, useBrowser, withBrowser } from "./browser.ts";
import { startProxy } from "./proxy.ts";
import { startPage, TOKEN } from "./start-page.ts";

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
    await one.runtime.execute(`await tools.bank.pay({ n: 1, lines: ${lines} });`, { id: "long" });
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

withBrowser(
  "each of several calls that wait has a way to it in the header, and one that is decided says so",
  async () => {
    await using one = await startPage(open);
    const lines = "Array.from({ length: 40 }, (_, n) => `line ${n}`)";
    await one.runtime.execute(`await Promise.all([1, 2, 3].map((n) => tools.bank.pay({ n, lines: ${lines} })));`, {
      id: "three",
    });
    const { page } = await one.show("three", { width: 320, height: 640 });
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
  },
);

withBrowser(
  "a write that may have taken effect is said to be done, with its result, run again, or given up",
  async () => {
    await using one = await startPage(open);
    const { journal } = one.runtime;
    const running = one.runtime.execute("return tools.bank.send({ n: 1 });", { id: "sends" });
    const read = () => Array.fromAsync(journal.read("sends"));
    await expect.poll(async () => (await read()).at(-1)).toMatchObject({ type: "call", decision: "allowed" });
    // The same execution, as if its host had died here.
    const records = await read();
    await journalWith(
      records.map((record) => (record.type === "header" ? { ...record, execution: "died" } : record)),
      journal,
    );
    one.gate.open();
    await running;
    await one.runtime.execution("died").resume();
    const { page } = await one.show("died", { width: 360, height: 640 });
    await page.waitForSelector("[data-approval]");
    const verbs = await page.$$eval(".decide button", (all) => all.map(({ textContent }) => textContent));
    expect(verbs).toEqual(["It was done…", "Run it again", "Give up"]);
    expect(await textOf(page, "[data-approval]")).toContain("“Run it again”: the call is made a second time.");
    await page.locator(".decide .done").click();
    await page.waitForFunction(() => document.activeElement?.className === "result");
    expect(await inSight(page, ".decide button")).toEqual([true, true, true]);
    await page.keyboard.type("{sent");
    await page.locator(".decide .done").click();
    await untilText(page, "[data-approval] [role=alert]", /not JSON/);
    await page.$eval(".decide .result", (input) => (input as HTMLInputElement).select());
    await page.keyboard.type('{"sent":"by hand"}');
    await page.locator(".decide .done").click();
    await page.waitForSelector('main[data-state="ended"]');
    await untilText(page, '[data-part="output"]', /by hand/);
    expect(await textOf(page, "[data-approval]")).toContain("Noted as done.");
  },
);

withBrowser("a call of a program of a conversation is decided on the conversation's page", async () => {
  await using one = await startPage(open);
  const model = scriptedModel([{ programs: ["return tools.bank.pay({ n: 9 });"] }, () => ({ text: "Paid." })]);
  const { execution } = await one.runtime.agent({ model, task: "Pay.", programs: "local" });
  const { page } = await one.show(execution);
  await untilText(page, "[data-approval] .whole", /"n": 9/);
  await page.locator("[data-approval] .allow").click();
  await page.waitForSelector('[data-approval][data-state="decided"]');
  expect(await one.runtime.execution(execution).resume({ model })).toMatchObject({ ending: { type: "answered" } });
  await page.waitForSelector('main[data-state="ended"]');
  await untilText(page, '[data-part="output"]', /Paid\./);
});

withBrowser("a decision that came too late is answered by the server's sentence", async () => {
  await using one = await startPage(open);
  await using proxy = await startProxy(one.server.url, "/");
  await one.runtime.execute("return tools.bank.pay({ n: 1 });", { id: "late" });
  const { page } = await open(`${proxy.url}#token=${TOKEN}`);
  await page.waitForSelector('[data-execution="late"]');
  await page.evaluate('location.hash = "#/execution/late"');
  await page.waitForSelector("[data-approval]");
  // The page does not hear of the other decision.
  proxy.deafTo = "GET";
  await one.runtime.execution("late").decide({ "1": { allow: false, by: "ann" } });
  await page.locator("[data-approval] .allow").click();
  await untilText(page, "[data-approval] [role=alert]", /ann/);
});

withBrowser(
  "further calls of a tool are allowed with the one that is decided, in words, and the policy's reason is shown",
  async () => {
    await using one = await startPage(open);
    const reason = "No echoes <b>here</b>.";
    const program =
      "await tools.echo({ n: 0 }).catch(() => {}); for (const n of [1, 2, 3, 4]) await tools.bank.pay({ n }); return 1;";
    await one.runtime.execute(program, {
      id: "loop",
      policy: ({ tool }) => (tool === "echo" ? { deny: reason } : "ask"),
    });
    const { page } = await one.open();
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
