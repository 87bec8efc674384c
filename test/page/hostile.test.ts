import { expect } from "vitest";
import { textOf, untilText, useBrowser, withBrowser } from "./browser.ts";
import { startPage } from "./start-page.ts";

const { open } = useBrowser();

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
    await one.runtime.execute(PROGRAM, { execution: id });
    const { page, problems } = await one.show(id);
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
    expect(problems).toEqual([]);
  },
);

withBrowser("names like __proto__ are calls and fields like others", async () => {
  await using one = await startPage(open);
  const program = `const all = ["__proto__", "constructor", "toString", "hasOwnProperty"];
for (const name of all) try { await tools[name]({ n: 1 }); } catch {}
try { await tools.echo(JSON.parse('{"n":1,"__proto__":{"x":1}}')); } catch {}
return all.length;`;
  await one.runtime.execute(program, { execution: "__proto__" });
  const { page, problems } = await one.show("__proto__");
  await untilText(page, '[data-part="output"]', /4/);
  expect(await page.evaluate(() => Reflect.get({}, "x") as unknown)).toBeUndefined();
  expect(problems).toEqual([]);
});

withBrowser("a source whose colouring would take a pattern long is shown at once", async () => {
  await using one = await startPage(open);
  const long = 6_000;
  const source = `return 1;\n// ${"a".repeat(long)}\n/*${"/".repeat(long)}*/\nconst x = "${"\\\\".repeat(long / 2)}";\n${"a".repeat(long)}: ;`;
  await one.runtime.execute(source, { execution: "long" });
  const { page, problems } = await one.show("long");
  await untilText(page, '[data-part="program"]', /aaaa/);
  expect(problems).toEqual([]);
});

withBrowser("an input is shown whole before it is decided, however long it is", async () => {
  await using one = await startPage(open);
  const end = "the very end";
  await one.runtime.execute(`await tools.bank.pay({ n: 1, text: "x".repeat(300000) + "${end}" });`, {
    execution: "e1",
  });
  const { page } = await one.show("e1");
  await untilText(page, "[data-approval] .whole", /the very end/);
});

withBrowser("hundreds of thousands of invisible characters are shown whole, in few elements", async () => {
  await using one = await startPage(open);
  const program = `await tools.bank.pay({ n: 1, text: "a\\u200b".repeat(100_000) + "end" }); // ${"b\u200b".repeat(5000)}`;
  await one.runtime.execute(program, { execution: "e1" });
  const { page, problems } = await one.show("e1");
  await untilText(page, "[data-approval] .whole", /a\\u200ba\\u200bend/);
  expect((await page.$$("[data-approval] .unsafe")).length).toBeLessThan(1100);
  expect((await textOf(page, "[data-approval] .whole")).length).toBeGreaterThan(7 * 100_000);
  expect((await page.$$('[data-part="program"] .unsafe')).length).toBeLessThan(1100);
  await page.locator("[data-approval] .deny").click();
  await page.waitForSelector('main[data-state="ended"]');
  expect(problems).toEqual([]);
});
