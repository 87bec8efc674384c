import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, createSqliteJournal, defineTool, type Runtime, type RuntimeOptions } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { newFile } from "../support/new-file.ts";

/** A tool for programs without `output`. */
function untyped(name: string, handler: (input: { readonly of?: string | undefined }) => unknown, more: object = {}) {
  return defineTool({
    name,
    description: "Gives what there is",
    inputSchema: z.object({ of: z.string().optional() }),
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: handler,
    ...more,
  });
}

const tickets = untyped("desk.list", () => ({
  total: 2,
  tickets: [
    { id: 71, title: "SECRET one", ownerEmail: null },
    { id: 72, title: "SECRET two", ownerEmail: "SECRET@example.com", closedAt: "2026-11-26" },
  ],
  byOwner: { "ann@example.com": 1, "bob@example.com": 3 },
}));
const TYPE =
  "{ byOwner: Record<string, number>, tickets: { closedAt?: string, id: number, ownerEmail: string | null, title: string }[], total: number }";

/** Fifty names of fields. */
const FIFTY = Object.fromEntries(
  Array.from("abcdefghij", (a) => Array.from("klmno", (b) => [`f${a}${b}`, 1] as const)).flat(),
);

const run = (options: RuntimeOptions) =>
  createRuntime({ sandbox: createMemorySandbox(), logger: { error: () => {} }, ...options });

/** What programs are told of tools once this one has run. */
async function declaredAfter(program: string, options: RuntimeOptions) {
  await using runtime = await run(options);
  await runtime.execute(program);
  return runtime.declarations();
}

test("a tool without output is shown with what its results were like, to its tenant alone, and nothing of it is in the journal", async () => {
  using journal = createSqliteJournal({ path: newFile() });
  await using runtime = await run({ tools: [tickets], journal });
  const { run_program: inLoop } = await runtime.asTool("ai-sdk");
  const { run_program: inRunner } = await runtime.asTool("anthropic");
  expect(runtime.declarations()).toContain("Promise<unknown>");
  await runtime.execute("await tools.desk.list({}); return 1");
  for (const shown of [runtime.declarations(), inLoop.description, inRunner.description])
    expect(shown).toContain(`Promise<${TYPE}> // observed in 1 result; Gives`);
  await runtime.execute("for (let at = 0; at < 4; at += 1) await tools.desk.list({}); return 1");
  const declared = runtime.declarations();
  expect(declared).toContain(`Promise<${TYPE}> // observed in 5 or more results`);
  const { stub = "" } = (await runtime.searchTools("list"))[0] ?? {};
  expect(stub).toBe(`tools.desk.list(input: { of?: string }): Promise<${TYPE}> // observed in 5 or more results`);
  const [inPython] = await runtime.searchTools("list", 1, { language: "python" });
  expect(inPython?.stub).toMatch(
    /^await tools\.desk\.list\(.*\) -> \{"byOwner": dict\[str, int\].* # observed in 5 or more results$/,
  );
  const [others] = await runtime.searchTools("list", 1, { tenant: "acme" });
  expect(others?.stub).toContain("Promise<unknown>");
  await using other = runtime.derive({ tenant: "acme" });
  expect(other.declarations()).toContain("Promise<unknown>");
  await using later = await run({ tools: [tickets], journal });
  await later.execute("return 1");
  expect(later.declarations()).toContain("Promise<unknown>");
});

const many = (count: number, result: (n: number) => unknown) =>
  Array.from({ length: count }, (_, n) => untyped(`many.t${n}`, () => result(n)));
const isKnown = async (runtime: Runtime, tool: number, tenant?: string) => {
  const found = await runtime.searchTools(`many.t${tool}`, 20, tenant === undefined ? {} : { tenant });
  return found.find(({ name }) => name === `many.t${tool}`)?.stub.includes("observed");
};

test.each([
  ["a thousand tools of a tenant", 1010, 9, () => ({ id: 1 })],
  [
    "20,000 fields of a tenant's tools",
    140,
    9,
    () => Object.fromEntries(["orders", "owners", "parts"].map((of) => [of, FIFTY])),
  ],
])("the types of no more than %s are held: those that were seen longest ago go", async (_, count, gone, result) => {
  await using runtime = await run({ tools: many(count, result), observeResults: true });
  for (let n = 0; n < count; n += 1) await runtime.call({ tool: `many.t${n}`, input: {}, caller: "programmatic" });
  expect([await isKnown(runtime, 0), await isKnown(runtime, gone - 1)]).toEqual([false, false]);
  expect([await isKnown(runtime, count - 90), await isKnown(runtime, count - 1)]).toEqual([true, true]);
});

test("the types of no more than 500 tenants are held: those that were asked for longest ago go", async () => {
  await using runtime = await run({ tools: many(1, () => ({ id: 1 })), observeResults: true });
  for (let n = 0; n <= 500; n += 1)
    await runtime.call({ tool: "many.t0", input: {}, caller: "programmatic", tenant: `t${n}` });
  expect([await isKnown(runtime, 0, "t500"), await isKnown(runtime, 0, "t2"), await isKnown(runtime, 0, "t0")]).toEqual(
    [true, true, false],
  );
});

test("a definition that has changed begins anew", async () => {
  let tools = [tickets];
  await using runtime = await run({ tools: () => tools, observeResults: true });
  await runtime.execute("await tools.desk.list({}); return 1");
  expect(runtime.declarations()).toContain("observed");
  tools = [untyped("desk.list", () => 1, { inputSchema: z.object({ page: z.number() }) })];
  await runtime.execute("return 1");
  expect(runtime.declarations()).toContain("Promise<unknown>");
});

test("a program that reads a field that no result has is told which there are", async () => {
  await using runtime = await run({ tools: [tickets], observeResults: true });
  const failed = await runtime.execute("const r = await tools.desk.list({}); return r.items.length");
  expect(failed.output.text).toMatch(/"items".*"byOwner", "tickets", "total"/);
  await using silent = await run({ tools: [tickets] });
  const unknown = await silent.execute("const r = await tools.desk.list({}); return r.items.length");
  expect(unknown.output.text).not.toContain("no field");
});

test("items of a stream are observed, whoever reads them", async () => {
  const stream = untyped(
    "log.lines",
    async function* () {
      yield { level: "info", at: 1 };
      yield { level: "warn", at: 2, code: "SECRET" };
    },
    { stream: true },
  );
  const program = "for await (const line of tools.log.lines({})); return 1";
  expect(await declaredAfter(program, { tools: [stream], observeResults: true })).toContain(
    "AsyncIterable<{ at: number, code?: string, level: string }> // observed in 2 items",
  );
});

test("names that redact finds, names that are data and results that failed leave nothing", async () => {
  const own = untyped("crm.read", ({ of }) => {
    if (of === "fail") throw new Error("no");
    return { name: 1, codename: { inner: 1 }, "ann@example.com": { at: 1 } };
  });
  const redact = ({ text }: { readonly text: string }) => {
    const start = text.indexOf("codename");
    return start < 0 ? [] : [{ start, end: start + 8, what: "codename" }];
  };
  await using runtime = await run({ tools: [own], observeResults: true, redact });
  await runtime.execute('await tools.crm.read({ of: "fail" }).catch(() => {}); return 1');
  expect(runtime.declarations()).toContain("Promise<unknown>");
  await runtime.execute("await tools.crm.read({}); return 1");
  await expect.poll(() => runtime.declarations()).toContain("observed");
  expect(runtime.declarations()).not.toMatch(/codename|example/);
  expect(runtime.declarations()).toContain("name: number");
});

test("names that are data are one type, and fields beside them are shown", async () => {
  const tool = untyped("web.by", ({ of = "" }) => ({ by: { [of]: { age: 1 } }, ...(of === "z" && { extra: 1 }) }));
  const names = Array.from("abcdefghijklmnopqrstuvwxyz", (name) => `user${name}`);
  const program = `for (const of of ${JSON.stringify([...names, "z"])}) await tools.web.by({ of }); return 1`;
  expect(await declaredAfter(program, { tools: [tool], observeResults: true })).toContain(
    "Promise<{ by: Record<string, { age: number }>, extra?: number }>",
  );
});

test("with a journal in memory nothing is learned, unless the host wants it; a declared output is as it is declared", async () => {
  const inMemory = { tools: [tickets], journal: createMemoryJournal() };
  expect(await declaredAfter("await tools.desk.list({}); return 1", inMemory)).toContain("Promise<unknown>");
  const typed = untyped("desk.typed", () => ({ id: 1, more: 2 }), { outputSchema: z.looseObject({ id: z.number() }) });
  const own = { tools: [typed], observeResults: true };
  expect(await declaredAfter("await tools.desk.typed({}); return 1", own)).not.toContain("observed");
});

test("a model is told of types before it writes its first program of the next conversation", async () => {
  await using runtime = await run({ tools: [tickets], observeResults: true });
  const told = async () => {
    const model = scriptedModel([{ programs: ["await tools.desk.list({}); return 1"] }, { text: "Done." }]);
    await runtime.agent({ model, task: "Look" });
    return model.conversations[0]?.[0]?.opening.runProgram?.description;
  };
  expect(await told()).toContain("Promise<unknown>");
  expect(await told()).toContain(`Promise<${TYPE}> // observed in 1 result`);
});

test.each(["ai-sdk", "anthropic", "openai-agents"] as const)(
  "a tool that was handed to the loop of %s tells of types that were learned since",
  async (loop) => {
    await using runtime = await run({ tools: [tickets], observeResults: true });
    const { run_program } = await runtime.asTool(loop);
    expect(run_program.description).toContain("Promise<unknown>");
    await runtime.execute("await tools.desk.list({}); return 1");
    expect(run_program.description).toContain(`Promise<${TYPE}> // observed in 1 result`);
  },
);

test("a large result is learned from as far as it is read", async () => {
  const rows = untyped("big.rows", () => ({
    rows: Array.from({ length: 20_000 }, (_, id) => ({ id, text: "SECRET" })),
  }));
  await using runtime = await run({ tools: [rows], observeResults: true });
  await runtime.execute("await tools.big.rows({}); return 1");
  await expect.poll(() => runtime.declarations()).toContain("{ rows: { id: number, text: string }[] }");
});
