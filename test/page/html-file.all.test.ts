import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { htmlFile } from "../../src/serve/page/html-file.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { portcullis } from "../cli/command.ts";
import { tool, makeTool } from "../support/tools.ts";
import { shoot, untilText, useBrowser, withBrowser } from "./browser.ts";
import { newFolder } from "../support/new-folder.ts";

const { open } = useBrowser();
const folder = newFolder();

const rows = makeTool({
  name: "rows",
  input: z.object({ n: z.number() }),
  allowedCallers: ["programmatic", "direct"],
  handler: ({ n }) => Array.from({ length: n }, (_, id) => ({ id })),
});

withBrowser("a conversation's file holds its programs, which open inside", async () => {
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({ tools: [rows], journal, sandbox: createMemorySandbox() });
  const model = scriptedModel([
    { calls: [{ tool: "rows", input: { n: 1 } }] },
    { programs: ["console.log('inside');\nreturn (await tools.rows({ n: 2 })).length;"] },
    () => ({ text: "It is <b>two</b>." }),
  ]);
  const { execution } = await runtime.agent({ model, task: "How many rows?", programs: "local" });
  const file = join(folder, "conversation.html");
  writeFileSync(file, (await htmlFile(journal, execution)).html);
  const { page, problems } = await open(pathToFileURL(file).href);
  await untilText(page, ".turns", /How many rows\?/);
  await untilText(page, '[data-part="output"]', /It is <b>two<\/b>\./);
  const [nested] = await page.$$("details[data-execution]");
  await nested?.$("summary").then((summary) => summary?.click());
  await untilText(page, 'details [data-part="logs"]', /inside/);
  await untilText(page, 'details [data-part="program"]', /tools\.rows/);
  expect(problems).toEqual([]);
  await shoot(page, "conversation");
});

test("the command names programs of a conversation that are not in its file", async () => {
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({ tools: [rows], journal, sandbox: createMemorySandbox() });
  const programs = Array.from({ length: 203 }, (_, index) => `return ${index};`);
  const { execution } = await runtime.agent({
    model: scriptedModel([{ programs }, { text: "Done." }]),
    task: "Many.",
    limits: { calls: 1000 },
  });
  const { left } = await htmlFile(journal, execution);
  const whole = await Promise.all(left.map((id) => htmlFile(journal, id)));
  expect(whole.map(({ html }) => /return (\d+);/.exec(html)?.[1])).toEqual(["200", "201", "202"]);
});

test("programs that would make a conversation's file too long for a text are told, and not in it", async () => {
  const journal = createMemoryJournal();
  const long = tool("long", () => "<".repeat(64 * 1024));
  await using runtime = await createRuntime({ tools: [long], journal, sandbox: createMemorySandbox() });
  const program = "await Promise.all(Array.from({ length: 130 }, () => tools.long({}))); return 1;";
  const { execution } = await runtime.agent({
    model: scriptedModel([{ programs: Array.from({ length: 6 }, () => program) }, { text: "Done." }]),
    task: "Long.",
    limits: { totalBytes: 64 * 1024 * 1024 },
  });
  const { html, left } = await htmlFile(journal, execution);
  expect(html.length).toBeLessThan(80 * 1024 * 1024);
  expect(left.length).toBeGreaterThan(0);
  expect(left.length).toBeLessThan(6);
});

test("the command writes the file for its owner alone, and prints its address", async () => {
  const journal = ["--journal", join(folder, "one.db")];
  const tools = join(folder, "tools.ts");
  writeFileSync(tools, "export default [];");
  const ran = await portcullis(["run", "-", "--tools", tools, ...journal, "--execution", "e1"], "return 1;");
  expect(ran.code).toBe(0);
  const file = join(folder, "shown.html");
  const shown = await portcullis(["show", "e1", ...journal, "--html", file]);
  expect(shown).toMatchObject({ code: 0, stdout: `${pathToFileURL(file).href}\n` });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const fileless = await portcullis(["show", "e1", ...journal, "--html", "--json"]);
  expect([fileless.code, fileless.stderr]).toEqual([2, expect.stringContaining("--html has no file: --json")]);
  const both = await portcullis(["show", "e1", ...journal, "--html", file, "--json"]);
  expect(both.code).toBe(2);
  const nowhere = await portcullis(["show", "e1", ...journal, "--html", join(folder, "no/where.html")]);
  expect(nowhere).toMatchObject({ code: 2 });
  expect(nowhere.stderr).toContain("cannot be written");
  const unknown = await portcullis(["show", "e2", ...journal, "--html", file]);
  expect(unknown.code).not.toBe(0);
});
