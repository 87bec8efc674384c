/// <reference lib="dom" />
import { expect } from "vitest";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { textOf, untilText, useBrowser, withBrowser } from "./browser.ts";
import { startPage } from "./start-page.ts";

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
    const { page, problems } = await one.show(await talk(one));
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
    expect(problems).toEqual([]);
  },
);

withBrowser("an address of an execution that is not there says so, and leads to those that are", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return 1;", { id: "here" });
  const { page, problems } = await one.show("here");
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
  expect(problems.filter((problem) => !problem.includes("404"))).toEqual([]);
});
