/// <reference lib="dom" />
import type { ElementHandle, Page, SerializedAXNode } from "puppeteer-core";
import { expect } from "vitest";
import { scriptedModel } from "../../src/testing.ts";
import { shoot, textOf, untilText, useBrowser, withBrowser } from "./browser.ts";
import { startPage, TOKEN } from "./start-page.ts";

const { open } = useBrowser();

/** What has the focus: its role or element, and its name. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    return `${element?.getAttribute("role") ?? element?.tagName.toLowerCase()} ${element?.getAttribute("aria-label") ?? element?.textContent?.slice(0, 40)}`;
  });

withBrowser("everything can be done by keyboard alone", async () => {
  await using one = await startPage(open);
  const program =
    "for (let n = 0; n < 14; n += 1) await tools.crm.orders({ n });\nawait tools.bank.pay({ n: 1 });\nreturn 7;";
  await one.runtime.execute(program, { execution: "keys" });
  const { page, problems } = await open(one.url);
  await page.waitForSelector("[data-execution]");
  const tabTo = async (what: RegExp) => {
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press("Tab");
      if (what.test(await focused(page))) return;
    }
    throw new Error(`The focus does not reach ${what}.`);
  };
  await tabTo(/^a .*waiting/);
  await page.keyboard.press("Enter");
  await page.waitForSelector("main[data-execution]");
  await tabTo(/^tree/);
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector('[role=treeitem][aria-expanded="true"]');
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await untilText(page, ".call-details", /Call 1: crm\.orders/);
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await untilText(page, ".call-details", /bank\.pay/);
  await tabTo(/^button Allow/);
  await page.keyboard.press("Enter");
  await page.waitForSelector('main[data-state="ended"]');
  await page.waitForFunction(() => document.activeElement?.textContent === "Close");
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-approval]", { hidden: true });
  await tabTo(/^input/);
  await page.keyboard.press("Home");
  await page.waitForSelector('[data-part="replay"][data-turn="1"]');
  expect(problems).toEqual([]);
});

withBrowser("the replay shows after each turn what was known then", async () => {
  await using one = await startPage(open);
  await one.runtime.execute(
    'console.log("one");\nawait tools.crm.orders({ n: 1 });\nconsole.log("two");\nawait tools.echo({ n: 2 });\nreturn 5;',
    {
      execution: "turns",
    },
  );
  const { page } = await one.show("turns");
  const go = async (turn: number) => {
    await page.$eval(
      '[data-part="replay"] input',
      (input, value) => {
        (input as unknown as { value: string }).value = String(value);
        input.dispatchEvent(new Event("input", { bubbles: true }));
      },
      turn,
    );
    await page.waitForSelector(`[data-part="replay"][data-turn="${turn + 1}"]`);
  };
  await go(0);
  expect(await textOf(page, '[data-part="logs"] pre')).toBe("one\n");
  await page.waitForSelector('[data-part="calls"][data-count="1"] [data-call="1"][data-state="open"]');
  expect(await textOf(page, '[data-part="output"]')).toContain("Nothing yet.");
  expect(await textOf(page, ".replay-text")).toContain("It began. It made 1 call: crm.orders. It printed.");
  await go(1);
  expect(await textOf(page, '[data-part="logs"] pre')).toBe("one\ntwo\n");
  await page.waitForSelector('[data-call="1"][data-state="value"]');
  await go(2);
  await untilText(page, '[data-part="output"]', /5/);
});

/** Texts whose contrast with their ground is below 4.5. */
const faint = (page: Page) =>
  page.evaluate(() => {
    const numbers = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number);
    const light = (color: string) => {
      const [r = 0, g = 0, b = 0] = numbers(color).map((part) => {
        const share = part / 255;
        return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const groundOf = (element: Element): string => {
      const color = getComputedStyle(element).backgroundColor;
      return numbers(color)[3] === 0 && element.parentElement ? groundOf(element.parentElement) : color;
    };
    return [...document.querySelectorAll("body *")].flatMap((element) => {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim());
      if (!own || element.tagName === "OPTION" || element.closest("[aria-disabled=true]")) return [];
      const [a, b] = [light(getComputedStyle(element).color), light(groundOf(element))].toSorted((x, y) => y - x) as [
        number,
        number,
      ];
      const ratio = (a + 0.05) / (b + 0.05);
      return ratio < 4.5 ? [`${element.className || element.tagName}: ${ratio.toFixed(2)}`] : [];
    });
  });

for (const scheme of ["light", "dark"] as const)
  withBrowser(`texts can be read in the ${scheme} scheme, and nothing is wider than a phone`, async () => {
    await using one = await startPage(open);
    const program = `// A comment\nconst orders = await tools.crm.orders({ n: 12 });\nconsole.log("orders", orders.length, ${JSON.stringify("x".repeat(300))});\ntry { await tools.broken({ n: 1 }); } catch (error) { console.error(error.message); }\nawait tools.bank.pay({ n: 1, note: ${JSON.stringify("long ".repeat(200))} });\nreturn null.x;`;
    await one.runtime.execute(program, {
      execution: "a-rather-long-id-of-an-execution-without-any-spaces-in-it-0123456789",
    });
    const { page, problems } = await open(one.url, { width: 360, height: 740, scheme });
    const isWide = () =>
      page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    await page.waitForSelector(".list-row");
    expect(await isWide()).toBe(false);
    await shoot(page, `phone-list-${scheme}`);
    await page.locator(".list-row").click();
    await page.waitForSelector("[data-approval]");
    expect(await isWide()).toBe(false);
    expect(
      await page.evaluate(
        () =>
          getComputedStyle(document.body).backgroundColor + getComputedStyle(document.documentElement).backgroundColor,
      ),
    ).toContain(scheme === "light" ? "255" : "20, 23, 26");
    await shoot(page, `phone-${scheme}`);
    expect(await faint(page)).toEqual([]);
    await page.locator("[data-approval] .allow").click();
    await page.waitForSelector('main[data-state="ended"]');
    await untilText(page, ".fault", /TypeError/);
    await page.locator(".approvals header button:last-child").click();
    await page.locator('[data-call="1"]').click();
    await page.waitForSelector(".call-details pre");
    expect(await isWide()).toBe(false);
    expect(await faint(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

withBrowser("two executions of one program are compared call by call", async () => {
  await using one = await startPage(open);
  const program = "let n = 0;\nfor (const way of [1, 2]) n += (await tools.slow({ n: way })) ?? 0;\nreturn n;";
  for (const execution of ["first", "second"]) {
    const running = one.runtime.execute(program, { execution });
    const timer = setInterval(() => one.gate.open(), 5);
    await running;
    clearInterval(timer);
  }
  await one.runtime.execute("return 0;", { execution: "other" });
  const { page, problems } = await one.show("first");
  await page.locator(".compare-with summary").click();
  await page.waitForSelector('.compare-with a[href$="/second"]');
  expect(await page.$$eval(".compare-with a", (links) => links.length)).toBe(1);
  await page.locator(".compare-with a").click();
  await page.waitForSelector("[data-compare]");
  expect(await textOf(page, "h1")).toBe("Two executions of one program");
  expect(await textOf(page, "[data-first-difference]")).toContain("Both made the same calls");
  expect(await page.title()).toMatch(/^Comparison · slow$/);
  await untilText(page, "tbody tr", /slow: calls22/);
  await shoot(page, "compare");
  expect(problems).toEqual([]);
});

withBrowser("the list is narrowed by state, tool and text, and shows what comes", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return 1; // alpha", { execution: "a" });
  await one.runtime.execute("await tools.bank.pay({ n: 1 });", { execution: "b" });
  const { page, problems } = await open(one.url);
  await page.waitForSelector('[data-execution="a"]');
  await page.select('[data-filter="state"]', "waiting");
  await page.waitForSelector('[data-execution="a"]', { hidden: true });
  await page.waitForSelector('[data-execution="b"][data-state="waiting"]');
  await page.select('[data-filter="state"]', "");
  await page.type('[data-filter="text"]', "ALPHA");
  await page.waitForSelector('[data-execution="b"]', { hidden: true });
  await page.waitForSelector('[data-execution="a"]');
  await one.runtime.execute("return 2; // alpha", { execution: "c" });
  await page.waitForSelector('[data-execution="c"]');
  // Who comes back finds the list as it was.
  await page.locator('[data-execution="a"] a').click();
  await page.waitForSelector("main[data-execution]");
  await page.goBack();
  await page.waitForSelector('[data-execution="c"]');
  expect(await page.$eval('[data-filter="text"]', (input) => (input as HTMLInputElement).value)).toBe("ALPHA");
  await page.type('[data-filter="tool"]', "none");
  await untilText(
    page,
    ".nothing",
    /^No execution has “ALPHA” in its task, program or id and has a tool named like “none”\./,
  );
  await page.locator(".nothing button").click();
  await page.waitForSelector('[data-execution="b"]');
  expect(problems).toEqual([]);
});

withBrowser("what is typed into a filter is asked for once it is whole, and the field keeps the focus", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return 1; // alphabet", { execution: "a" });
  await one.runtime.execute("return 1;", { execution: "b" });
  const { page } = await open(one.url);
  await page.waitForSelector('[data-execution="b"]');
  const asked: string[] = [];
  page.on("request", (request) => {
    const text = new URL(request.url()).searchParams.get("text");
    if (text !== null) asked.push(text);
  });
  await page.type('[data-filter="text"]', "alphabet");
  await page.keyboard.press("Enter");
  await page.waitForSelector('[data-execution="b"]', { hidden: true });
  expect(asked.at(-1)).toBe("alphabet");
  // A busy machine may take long for a letter.
  expect(new Set(asked).size).toBeLessThan(4);
  expect(await page.evaluate(() => document.activeElement?.getAttribute("data-filter"))).toBe("text");
});

withBrowser(
  "a filter says what it looks in, has states in words, and the bars of all rows have one scale",
  async () => {
    await using one = await startPage(open);
    await one.runtime.execute("return 1;", { execution: "program" });
    const { execution } = await one.runtime.agent({ model: scriptedModel([{ text: "Hello." }]), task: "Say hello." });
    const { page } = await open(one.url);
    await page.waitForSelector(`[data-execution="${execution}"][data-state="ended"]`);
    expect(
      await page.$$eval(".filters label", (labels) => labels.map((label) => label.firstChild?.textContent)),
    ).toEqual(["Task, program or id", "Tool", "State"]);
    expect(await page.$$eval(".filters option", (options) => options.map((option) => option.textContent))).toEqual([
      "all",
      "waiting",
      "running or interrupted",
      "ended",
      "not read, because it is large",
      "unreadable",
    ]);
    const whole = await page.$$eval(
      ".list-took .bar",
      (bars) => bars.filter((bar) => Number(bar.getAttribute("width")) === 100).length,
    );
    expect(whole).toBe(1);
    await page.select('[data-filter="state"]', "running");
    await untilText(page, ".nothing", /^No execution is running or interrupted\./);
  },
);

withBrowser("another screen has another title and gets the focus, and the tab key goes on in it", async () => {
  await using one = await startPage(open);
  for (const execution of ["a", "b"]) await one.runtime.execute("// Count\nreturn 1;", { execution });
  const { page } = await open(one.url);
  await page.waitForSelector('[data-execution="a"]');
  expect(await page.title()).toBe("Executions · Portcullis");
  const goTo = async (selector: string, title: string) => {
    await page.locator(selector).click();
    await page.waitForFunction((wanted) => document.title === wanted, {}, title);
    expect(await focused(page)).toMatch(/^main /);
  };
  await goTo('[data-execution="a"] a', "Count · completed");
  await page.locator(".compare-with summary").click();
  await goTo('.compare-with a[href$="/b"]', "Comparison · Count");
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.closest("main") !== null)).toBe(true);
  await goTo("nav a", "Executions · Portcullis");
});

withBrowser("what waits stands first in the list, however old it is", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("await tools.bank.pay({ n: 1 });", { execution: "old" });
  for (const execution of ["b", "c"]) await one.runtime.execute("return 1;", { execution });
  const { page } = await open(one.url);
  await page.waitForSelector('[data-execution="c"]');
  const ids = await page.$$eval("[role=listitem]", (rows) => rows.map((row) => row.getAttribute("data-execution")));
  expect(ids[0]).toBe("old");
  expect(ids).toHaveLength(3);
  await untilText(page, ".list-count", /^3 executions, 1 of them waiting$/);
});

/** Controls without a name, as a screen reader is told of them. */
async function unnamed(page: Page): Promise<readonly string[]> {
  const found: string[] = [];
  const look = (node: SerializedAXNode) => {
    if (CONTROLS.has(node.role) && (node.name ?? "").trim() === "") found.push(node.role);
    for (const child of node.children ?? []) look(child);
  };
  const tree = await page.accessibility.snapshot();
  if (tree) look(tree);
  expect(JSON.stringify(tree).length).toBeGreaterThan(500);
  return found;
}

const CONTROLS: ReadonlySet<string> = new Set([
  "button",
  "link",
  "textbox",
  "searchbox",
  "combobox",
  "slider",
  "tree",
  "treeitem",
  "region",
  "navigation",
]);

withBrowser("every control and part has a name for screen readers", async () => {
  await using one = await startPage(open);
  const program =
    'console.log("a");\nfor (let n = 0; n < 13; n += 1) await tools.crm.orders({ n });\nawait tools.bank.pay({ n: 1 });';
  await one.runtime.execute(program, { execution: "named" });
  const { page } = await open(one.url);
  await page.waitForSelector(".list-row");
  expect(await unnamed(page)).toEqual([]);
  await page.locator(".list-row").click();
  await page.waitForSelector("[data-approval]");
  await page.locator(".call-line").click();
  expect(await unnamed(page)).toEqual([]);
});

withBrowser("all that the tab key reaches has a role and a name, also what scrolls", async () => {
  await using one = await startPage(open);
  const program = `${"// A line\n".repeat(60)}console.log("a");\nfor (let n = 0; n < 11; n += 1) await tools.crm.orders({ n });\nfor (let n = 0; n < 11; n += 1) await tools.echo({ n });`;
  await one.runtime.execute(program, { execution: "tabs" });
  const { page } = await one.show("tabs");
  await page.waitForSelector(".call-line");
  const reached: string[] = [];
  for (let presses = 0; presses < 20; presses += 1) {
    await page.keyboard.press("Tab");
    const element = await page.evaluateHandle(() => document.activeElement ?? document.body);
    const node = await page.accessibility.snapshot({
      root: element.asElement() as ElementHandle,
      interestingOnly: false,
    });
    if (await element.evaluate((one) => one === document.body)) break;
    reached.push(`${node?.role}: ${node?.name}`);
  }
  expect(reached.filter((one) => /^(?:generic|none|undefined)|: (?:undefined)?$/.test(one))).toEqual([]);
  expect(reached).toContain("region: Source of the program, with its calls");
  expect(reached.some((one) => one.startsWith("tree: Calls over time"))).toBe(true);
});

withBrowser(
  "a page without a key asks for one, says why another one is refused, and goes on with a valid one",
  async () => {
    await using one = await startPage(open);
    await one.runtime.execute("return 1", { execution: "seen" });
    const { page } = await open(new URL("/", one.url).href);
    const give = async (key: string) => {
      await page.waitForSelector("form.problem input");
      await page.type("form.problem input", key);
      await Promise.all([page.waitForNavigation(), page.click("form.problem button")]);
    };
    await untilText(page, "form.problem", /^This server needs a key\./);
    expect(await textOf(page, "main")).not.toMatch(/Loading|execution/);
    await give("none-that-the-server-has");
    await untilText(page, "form.problem", /^The server refuses the key of this tab\. .*no valid key/);
    await give(TOKEN);
    await page.waitForSelector('[data-execution="seen"]');
  },
);
