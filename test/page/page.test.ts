/// <reference lib="dom" />
import type { Page, SerializedAXNode } from "puppeteer-core";
import { expect } from "vitest";
import { PAGE_HEADERS } from "../../src/serve/other-routes.ts";
import { ALL_TESTS, someOf, testOfAll } from "../support/all-tests.ts";
import { textOf, untilText, useBrowser, watchShifts, withBrowser } from "./browser.ts";
import { startProxy } from "./proxy.ts";
import { manyCalls, startPage, TOKEN } from "./start-page.ts";

/*
 * One test of each promise of the page, in one file, so that `make test` starts one browser. The files `x.all.test.ts` beside
 * this one have the others.
 */

/** What views and streams are tested for without a browser too. */
const withBrowserOfAll = ALL_TESTS ? withBrowser : testOfAll;

const { open } = useBrowser();
withBrowser("the token is taken out of the address, and without one the page asks for a key", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return 1;", { id: "e1" });
  const { page } = await one.open();
  await page.waitForSelector('[data-execution="e1"][data-state="ended"]');
  expect(page.url()).toBe(`${one.server.url}/#/`);
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
    { id: "live" },
  );
  const { page } = await one.show("live");
  const shifts = await watchShifts(page);
  for (let round = 1; round <= 5; round += 1) {
    await page.waitForSelector(`[data-part="calls"][data-count="${round * 2}"]`);
    await untilText(page, '[data-part="logs"]', new RegExp(`round ${round - 1}`));
    one.gate.open();
  }
  await running;
  await page.waitForSelector('main[data-state="ended"]');
  await untilText(page, '[data-part="output"]', /"all"/);
  expect(await shifts()).toEqual([]);
  expect(await page.$eval('[data-funnel="returned"]', (element) => element.getAttribute("data-value"))).not.toBeNull();
});

withBrowser("a call is decided on the page, with its whole input shown, and the program goes on", async () => {
  await using one = await startPage(open);
  const program =
    'const to = "Ann";\nconst paid = await tools.bank.pay({ n: 250, to, iban: "DE02 1203" });\nreturn paid;';
  const { page } = await one.showRun(program, "pay");
  await untilText(page, '[data-approval="1"]', /"iban": "DE02 1203"/);
  expect(await textOf(page, '[data-approval="1"] .changes')).toContain("changes something");
  await page.type('[data-approval="1"] input', "checked");
  await page.locator('[data-approval="1"] .allow').click();
  await page.waitForSelector('main[data-state="ended"]');
  await page.waitForSelector('[data-approval="1"][data-state="decided"]');
  await untilText(page, '[data-part="output"]', /"paid": 250/);
  await page.locator('[data-call="1"]').click();
  await untilText(page, ".call-details", /allowed.*checked/);
});

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
  await one.runtime.execute(program, { id: "keys" });
  const { page } = await one.open();
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

for (const scheme of someOf(["dark", "light"] as const, 1))
  withBrowser(`texts can be read in the ${scheme} scheme, and nothing is wider than a phone`, async () => {
    await using one = await startPage(open);
    const program = `// A comment\nconst orders = await tools.crm.orders({ n: 12 });\nconsole.log("orders", orders.length, ${JSON.stringify("x".repeat(300))});\ntry { await tools.broken({ n: 1 }); } catch (error) { console.error(error.message); }\nawait tools.bank.pay({ n: 1, note: ${JSON.stringify("long ".repeat(200))} });\nreturn null.x;`;
    await one.runtime.execute(program, {
      id: "a-rather-long-id-of-an-execution-without-any-spaces-in-it-0123456789",
    });
    const { page } = await one.open(one.url, { width: 360, height: 740, scheme });
    const isWide = () =>
      page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    await page.waitForSelector(".list-row");
    expect(await isWide()).toBe(false);
    await page.locator(".list-row").click();
    await page.waitForSelector("[data-approval]");
    expect(await isWide()).toBe(false);
    expect(
      await page.evaluate(
        () =>
          getComputedStyle(document.body).backgroundColor + getComputedStyle(document.documentElement).backgroundColor,
      ),
    ).toContain(scheme === "light" ? "255" : "20, 23, 26");
    expect(await faint(page)).toEqual([]);
    await page.locator("[data-approval] .allow").click();
    await page.waitForSelector('main[data-state="ended"]');
    await untilText(page, ".fault", /TypeError/);
    await page.locator(".approvals header button:last-child").click();
    await page.locator('[data-call="1"]').click();
    await page.waitForSelector(".call-details pre");
    expect(await isWide()).toBe(false);
    expect(await faint(page)).toEqual([]);
  });

withBrowserOfAll("two executions of one program are compared call by call", async () => {
  await using one = await startPage(open);
  const program = "let n = 0;\nfor (const way of [1, 2]) n += (await tools.slow({ n: way })) ?? 0;\nreturn n;";
  one.gate.stayOpen();
  for (const execution of ["first", "second"]) await one.runtime.execute(program, { id: execution });
  await one.runtime.execute("return 0;", { id: "other" });
  const { page } = await one.show("first");
  await page.locator(".compare-with summary").click();
  await page.waitForSelector('.compare-with a[href$="/second"]');
  expect(await page.$$eval(".compare-with a", (links) => links.length)).toBe(1);
  await page.locator(".compare-with a").click();
  await page.waitForSelector("[data-compare]");
  expect(await textOf(page, "h1")).toBe("Two executions of one program");
  expect(await textOf(page, "[data-first-difference]")).toContain("the same calls");
  expect(await page.title()).toMatch(/^Comparison · slow$/);
  await untilText(page, "tbody tr", /slow: calls22/);
});

withBrowserOfAll("the list is narrowed by state, tool and text, and shows what comes", async () => {
  await using one = await startPage(open);
  await one.runtime.execute("return 1; // alpha", { id: "a" });
  await one.runtime.execute("await tools.bank.pay({ n: 1 });", { id: "b" });
  const { page } = await one.open();
  await page.waitForSelector('[data-execution="a"]');
  await page.select('[data-filter="state"]', "waiting");
  await page.waitForSelector('[data-execution="a"]', { hidden: true });
  await page.waitForSelector('[data-execution="b"][data-state="waiting"]');
  await page.select('[data-filter="state"]', "");
  await page.type('[data-filter="text"]', "ALPHA");
  await page.waitForSelector('[data-execution="b"]', { hidden: true });
  await page.waitForSelector('[data-execution="a"]');
  await one.runtime.execute("return 2; // alpha", { id: "c" });
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

const CONTROLS: ReadonlySet<string> = new Set(
  "button link textbox searchbox combobox slider tree treeitem region navigation".split(" "),
);

withBrowserOfAll("every control and part has a name for screen readers", async () => {
  await using one = await startPage(open);
  const program =
    'console.log("a");\nfor (let n = 0; n < 13; n += 1) await tools.crm.orders({ n });\nawait tools.bank.pay({ n: 1 });';
  await one.runtime.execute(program, { id: "named" });
  const { page } = await one.open();
  await page.waitForSelector(".list-row");
  expect(await unnamed(page)).toEqual([]);
  await page.locator(".list-row").click();
  await page.waitForSelector("[data-approval]");
  await page.locator(".call-line").click();
  expect(await unnamed(page)).toEqual([]);
});

/** Everything that would show if a text were taken for more than text. */
const MARKUP =
  '<script>globalThis.hit=1</script><img src=x onerror="globalThis.hit=2"><a href="javascript:globalThis.hit=3">x</a><style>*{display:none}</style></pre></textarea><svg onload=globalThis.hit=4>';
const CONTROL = "\u001b[31mred\u001b]0;title\u0007 \u202egnp.exe \u2066x\u2069 \u200b\u0000\u009b";
const NASTY = `${MARKUP} ${CONTROL}`;

const PROGRAM = `// ${MARKUP} \u202e reversed
console.log(${JSON.stringify(NASTY)});
console.error("javascript:alert(1)");
await tools.echo({ n: 1, text: ${JSON.stringify(NASTY)}, "constructor": 1 });
await save("kept", ${JSON.stringify(NASTY)});
try { await tools.bank.pay({ n: 1, to: ${JSON.stringify(NASTY)} }); } catch {}
throw new TypeError(${JSON.stringify(NASTY)});`;

withBrowser(
  "hostile text of programs, results, logs, names, ids and errors is shown as text, with what is invisible marked",
  async () => {
    await using one = await startPage(open);
    const id = `</script>${MARKUP}javascript:\u202e__proto__`;
    const { page } = await one.showRun(PROGRAM, id);
    await page.waitForSelector("[data-approval]");
    expect(await textOf(page, '[data-part="program"] code')).toContain("<script>globalThis.hit=1</script>");
    await untilText(page, '[data-part="logs"]', /<img src=x onerror/);
    expect(await page.$$eval('[data-part="logs"] .unsafe', (all) => all.map(({ textContent }) => textContent))).toEqual(
      expect.arrayContaining(["\\u001b", "\\u0007", "\\u202e", "\\u2066", "\\u2069", "\\u200b", "\\u0000", "\\u009b"]),
    );
    await untilText(page, "[data-approval] .whole", /onerror/);
    await page.locator("[data-approval] .deny").click();
    await page.waitForSelector('main[data-state="ended"]');
    await untilText(page, ".fault", /TypeError.*<script>/);
    await page.locator('[data-call="1"]').click();
    await untilText(page, ".call-details", /onerror/);
    await page.goto(one.server.url);
    await page.waitForSelector(".list-row");
    expect(await page.evaluate(() => Reflect.get(globalThis, "hit") as unknown)).toBeUndefined();
    expect(await page.$$("#page script, #page img, #page style, #page iframe, #page a[href^=javascript]")).toEqual([]);
    const text = await page.evaluate(() => document.body.innerText);
    // Not one of the characters itself is in the document.
    expect(text).not.toMatch(/[\u0000-\u0008\u001b\u009b\u202e\u2066\u2069\u200b]/);
  },
);

withBrowserOfAll("a page that loses its server says so, keeps what it has, and goes on by itself", async () => {
  await using one = await startPage(open);
  const running = one.runtime.execute("await tools.slow({ n: 1 });\nreturn 5;", { id: "lost" });
  const proxy = await startProxy(one.server.url, "/");
  const { page } = await open(`${proxy.url}#token=${TOKEN}`);
  await page.waitForSelector('[data-execution="lost"]');
  await page.evaluate('location.hash = "#/execution/lost"');
  await page.waitForSelector('[data-call="1"]');
  const { port } = new URL(proxy.url);
  await proxy[Symbol.asyncDispose]();
  await untilText(page, ".problem", /does not answer/);
  expect(await textOf(page, '[data-part="program"]')).toContain("tools.slow");
  await using again = await startProxy(one.server.url, "/", Number(port));
  one.gate.open();
  await running;
  await page.waitForSelector('main[data-state="ended"]');
  expect(await page.$(".problem")).toBeNull();
  expect(again.asked).toContain("GET /v1/executions/lost/view/events");
});

withBrowser("many calls are shown in few elements, equal ones as one row, and the last one is reached", async () => {
  await using one = await startPage(open);
  await one.runtime.execute(manyCalls(1000), { id: "many" });
  const { page } = await one.show("many");
  await page.waitForSelector('.call-line[data-count="990"] rect');
  await page.locator('.call-line[data-count="990"]').click();
  await page.waitForSelector('[role=treeitem][aria-setsize="1001"]');
  expect((await page.$$(".call-line")).length).toBeLessThan(60);
  await page.$eval(".calls-tree .rows", (rows) => rows.scrollTo(0, rows.scrollHeight));
  await page.waitForSelector('.call-line[data-call="1000"][data-state="failed"]');
  expect((await page.$$(".call-line")).length).toBeLessThan(60);
});
