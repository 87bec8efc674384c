/*
 * Takes the pictures of the page that README and docs show, of the examples: `make page-pictures`. They are looked at before
 * they are committed.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { launch } from "puppeteer-core";
import flights from "../../examples/flights/tools.ts";
import refunds from "../../examples/refunds/tools.ts";
import { createRuntime } from "../../src/index.ts";
import { createServer } from "../../src/serve/index.ts";

const root = join(import.meta.dirname, "../..");
const REFUND = `const orders = await tools.orders.list({});
const lost = orders.filter(({ complaint }) => complaint === "never arrived");
console.log(lost.length, "of", orders.length, "orders never arrived");
const done = [];
for (const { id, euros } of lost) done.push(await tools.orders.refund({ order: id, euros }));
return done;`;

await using runtime = await createRuntime({ tools: [...flights, ...refunds], approve: () => "later" });
await runtime.execute(readFileSync(join(root, "examples/flights/program.js"), "utf8"), { execution: "flights" });
await runtime.execute(REFUND, { execution: "refunds" });
const server = await createServer(runtime);
const { url } = await server.listen({ port: 0 });
const browser = await launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});

async function take(
  name: string,
  execution: string,
  look: { width: number; height: number; scheme: string },
  click?: string,
) {
  const page = await (await browser.createBrowserContext()).newPage();
  await page.setViewport({ width: look.width, height: look.height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: look.scheme }]);
  await page.goto(`${url}/#token=${server.token ?? ""}`);
  await page.waitForSelector(`[data-execution="${execution}"] a`);
  await page.evaluate(`location.hash = "#/execution/${execution}"`);
  await page.waitForSelector("main[data-execution]");
  await page.waitForSelector(".call-line");
  if (click !== undefined) await page.locator(click).click();
  await page.screenshot({ path: join(root, `docs/${name}.webp`), type: "webp", quality: 70 });
}

const desk = { width: 1200, height: 860, scheme: "light" };
await take("page-program", "flights", desk, '[data-call="1"], .call-line');
await take("page-approval", "refunds", { ...desk, scheme: "dark" });
await take("page-phone", "flights", { width: 360, height: 780, scheme: "dark" });
await browser.close();
await server.close({ drainMs: 0 });
