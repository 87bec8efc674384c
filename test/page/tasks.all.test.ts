/// <reference lib="dom" />
import { expect } from "vitest";
import { textOf, untilText, useBrowser, withBrowser } from "./browser.ts";
import { startPage } from "./start-page.ts";

const { open } = useBrowser();

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
