import { expect } from "vitest";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { untilText, useBrowser, withBrowser } from "./browser.ts";
import { startProxy } from "./proxy.ts";
import { startPage, TOKEN } from "./start-page.ts";

const { open } = useBrowser();

withBrowser("a call of a program of a conversation is decided on the conversation's page", async () => {
  await using one = await startPage(open);
  const model = scriptedModel([{ programs: ["return tools.bank.pay({ n: 9 });"] }, () => ({ text: "Paid." })]);
  const { execution } = await one.runtime.agent({ model, task: "Pay.", programs: "local" });
  const { page, problems } = await one.show(execution);
  await untilText(page, "[data-approval] .whole", /"n": 9/);
  await page.locator("[data-approval] .allow").click();
  await page.waitForSelector('[data-approval][data-state="decided"]');
  expect(await one.runtime.execution(execution).resume({ model })).toMatchObject({ ending: { type: "answered" } });
  await page.waitForSelector('main[data-state="ended"]');
  await untilText(page, '[data-part="output"]', /Paid\./);
  expect(problems).toEqual([]);
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
