import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { createRuntime, type Runtime } from "../../src/index.ts";
import { createIsolateSandbox } from "../../src/sandboxes/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { makeTool } from "../support/tools.ts";

// Programs must not find the zone of the host.
vi.stubEnv("TZ", "America/New_York");

const text = readFileSync(join(import.meta.dirname, "../../docs/programs.md"), "utf8");

const invoices = makeTool({
  name: "billing.listInvoices",
  inputSchema: z.object({ customer: z.string() }),
  execute: () => [],
});

const eachInvoice = makeTool({
  name: "billing.eachInvoice",
  outputSchema: z.object({ id: z.number() }),
  stream: true,
  *execute() {
    for (let id = 1; id <= 3; id += 1) yield { id };
  },
});

/** Cells of the rows of the table under a heading. */
function rowsUnder(heading: string): string[][] {
  const section = text.split(/^#{2,3} /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll("\\|", "|")),
  );
}

const codeOf = (cell = "") => cell.replace(/^`+|`+$/g, "");
const valueOf = (cell: string | undefined): unknown => JSON.parse(codeOf(cell));

const RETURNS = rowsUnder("What there is").map(([what = "", program, value]) => ({
  what,
  program: codeOf(program),
  value: valueOf(value),
}));
const PRINTS = rowsUnder("What is printed").map(([what = "", program, printed]) => ({
  what,
  program: codeOf(program),
  printed: valueOf(printed),
}));
const ABSENT = rowsUnder("What there is not").flatMap(([programs = "", sentence = ""]) =>
  [...programs.matchAll(/`([^`]+)`/g)].map(([, program = ""]) => ({ program, sentence })),
);

test("the tables have rows", () => {
  expect([RETURNS.length > 25, PRINTS.length > 10, ABSENT.length > 20]).toEqual([true, true, true]);
});

describe.each([
  ["memory", createMemorySandbox()],
  ["isolate", createIsolateSandbox()],
])("docs/programs.md holds on the %s sandbox", (_name, sandbox) => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await createRuntime({ tools: [invoices, eachInvoice], sandbox });
  });
  afterAll(async () => {
    await runtime[Symbol.asyncDispose]();
    await sandbox[Symbol.asyncDispose]();
  });

  test.each(RETURNS)("$what: $program", async ({ program, value }) => {
    const { outcome, execution } = await runtime.execute(program);
    expect(outcome).toEqual({ type: "completed", value });
    expect(await runtime.execution(execution).replay()).toMatchObject({ type: "identical" });
  });

  test.each(PRINTS)("$what: $program", async ({ program, printed }) => {
    const { outcome, logs } = await runtime.execute(program);
    expect(outcome).toMatchObject({ type: "completed" });
    expect(logs.text).toBe(printed);
  });

  test.each(ABSENT)("$program is answered by a sentence", async ({ program, sentence }) => {
    const { outcome, output } = await runtime.execute(program);
    expect(outcome).toMatchObject({ type: "failed" });
    expect(output.text).toContain(sentence);
  });
});
