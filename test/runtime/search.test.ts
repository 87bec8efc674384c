import { hash } from "node:crypto";
import { inspect } from "node:util";
import { afterAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { createRuntime, defineTool, PortcullisError, type RuntimeOptions, type Tool } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { countTokens } from "../../src/tools/count-tokens.ts";
import { PROGRAM_SCHEMA } from "../../src/models/turn/program-input.ts";
import { agentOf, makeTool, runtimeWith, someOf, throws, tool } from "../support/index.ts";
import { manualClock } from "../support/clock.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { catalogueTools } from "../tools/search/catalogue-tools.ts";

const invoices = defineTool({
  name: "billing.listInvoices",
  description: "Invoices of a customer, the latest first.",
  inputSchema: z.object({ customer: z.string(), limit: z.number().int().optional() }),
  outputSchema: z.array(z.object({ id: z.string(), euros: z.number() })),
  allowedCallers: ["programmatic"],
  effect: "read",
  execute: () => [],
});
const payroll = makeTool({
  name: "hr.payInvoices",
  description: "Pays invoices of customers.",
  inputSchema: z.object({ customer: z.string() }),
  allowedCallers: ["direct"],
  effect: "write",
  execute: () => [],
});
const weather = tool("weather.today", () => "sun");
const TOOLS = [invoices, payroll, weather];

const JAVASCRIPT_STUB =
  "tools.billing.listInvoices(input: { customer: string, limit?: number /* integer */ }): Promise<{ id: string, euros: number }[]>";
const PYTHON_STUB =
  'await tools.billing.listInvoices(*, customer: str, limit: int = ...) -> list[{"id": str, "euros": float}]';

const start = (more: Partial<RuntimeOptions> = {}) => runtimeWith(TOOLS, more);

const LANGUAGES = [
  {
    name: "javascript",
    language: "javascript",
    sandbox: createMemorySandbox(),
    stub: JAVASCRIPT_STUB,
    finds: `return await searchTools({ query: "invoices of a customer" });`,
    catches: `const codes = []; for (const input of [[], [""], ["x", 0], ["x", 1.5], ["x", 1000], [{ query: "x", all: true }], ["x".repeat(5000)]]) codes.push(await searchTools(...input).catch((error) => error.code)); return codes;`,
    unawaited: `return { found: searchTools("invoices") };`,
    forged: `const name = "search" + "_tools"; return [typeof tools[name], Object.keys(tools)];`,
  },
  {
    name: "python",
    language: "python",
    sandbox: createForkedPythonSandbox(),
    stub: PYTHON_STUB,
    finds: `await searchTools("invoices of a customer", 5)`,
    catches: `codes = []
for given in [[], [""], ["x", 0], ["x", 1.5], ["x", 1000], [{"query": "x", "all": True}], ["x" * 5000]]:
    try:
        await searchTools(*given)
    except ToolError as error:
        codes.append(error.code)
codes`,
    unawaited: `return {"found": searchTools("invoices")}`,
    forged: `["undefined" if "search_tools" not in tools else "found", [*tools]]`,
  },
] as const;

describe.each(LANGUAGES.filter(({ language }) => language !== "python" || !PYTHON.missing))(
  "searchTools in $name",
  ({ language, sandbox, stub, finds, catches, unawaited, forged }) => {
    afterAll(() => sandbox[Symbol.asyncDispose]());

    test("finds the tools that programs may call, as lines that say how; and replays to the byte", async () => {
      await using runtime = await createRuntime({ tools: TOOLS, sandbox });
      const { outcome, calls, execution } = await runtime.execute(finds, { language });
      const description = "Invoices of a customer, the latest first.";
      expect(outcome).toEqual({
        type: "completed",
        value: [{ name: "billing.listInvoices", stub, description }],
      });
      expect(calls).toMatchObject([{ tool: "search_tools", caller: "programmatic", outcome: { type: "value" } }]);
      expect(await runtime.execution(execution).replay()).toMatchObject({ type: "identical" });
      const records = await runtime.execution(execution).records();
      expect(records.filter(({ type }) => type === "call" || type === "answered")).toMatchObject([
        { type: "call", tool: "search_tools", decision: "allowed" },
        { type: "answered", ok: true },
      ]);
    });

    test("counts as a call", async () => {
      await using runtime = await createRuntime({ tools: TOOLS, sandbox, limits: { calls: 1 } });
      const again =
        language === "python"
          ? `await searchTools("a")\nawait searchTools("b")`
          : `await searchTools("a"); await searchTools("b");`;
      expect((await runtime.execute(again, { language })).outcome).toMatchObject({ type: "stopped", limit: "calls" });
    });

    test("refuses what is no query", async () => {
      await using runtime = await createRuntime({ tools: TOOLS, sandbox });
      const { outcome } = await runtime.execute(catches, { language });
      expect(outcome).toEqual({ type: "completed", value: Array.from({ length: 7 }, () => "input_invalid") });
    });

    test("is told to be awaited where it was not", async () => {
      await using runtime = await createRuntime({ tools: TOOLS, sandbox });
      const { output } = await runtime.execute(unawaited, { language });
      expect(output.isError).toBe(true);
      expect(output.text).toMatch(language === "python" ? /await it first/ : /searchTools\(.*await/);
      expect(output.text).not.toContain("tools.search");
    });

    test("is no tool of `tools`", async () => {
      await using runtime = await createRuntime({ tools: [weather], sandbox });
      expect((await runtime.execute(forged, { language })).outcome).toMatchObject({
        value: ["undefined", language === "python" ? ["weather"] : ["weather", "weather.today"].slice(0, 1)],
      });
    });
  },
);

test("what a caller may not call changes nothing of what a search finds", async () => {
  const secret = Array.from({ length: 50 }, (_, place) =>
    makeTool({
      name: `secret.listInvoices${place}`,
      description: "Invoices of a customer invoices invoices.",
      inputSchema: z.object({ customer: z.string() }),
      allowedCallers: ["direct"],
      execute: () => null,
    }),
  );
  const program = `return [await searchTools("invoices of a customer", 25), await searchTools("secret", 25), await searchTools("customer", 25)];`;
  const values: unknown[] = [];
  for (const tools of [
    [invoices, weather],
    [...secret, invoices, weather],
  ]) {
    await using runtime = await runtimeWith(tools);
    values.push((await runtime.execute(program)).outcome);
  }
  expect(values[1]).toEqual(values[0]);
});

test("a filter is asked for each tenant and caller, and what it refuses is not found", async () => {
  const filter = vi.fn(({ name }: Tool, { tenant }: { tenant: string }) => tenant === "acme" || name !== invoices.name);
  await using runtime = await start({ search: { filter } });
  const found = async (tenant: string) =>
    (await runtime.searchTools("invoices", 5, { tenant })).map(({ name }) => name);
  expect(await found("acme")).toEqual([invoices.name]);
  expect(await found("other")).toEqual([]);
  expect(await found("acme")).toEqual([invoices.name]);
  const asked = filter.mock.calls.map(([{ name }, searcher]) => [name, searcher]);
  expect(asked).not.toContainEqual([payroll.name, expect.anything()]);
  expect(asked[0]).toEqual([invoices.name, { tenant: "acme", caller: "programmatic" }]);
});

test.each<[string, () => unknown]>([
  ["gives a promise", () => Promise.resolve(false)],
  ["gives nothing", () => undefined],
  ["throws", throws("no directory today")],
])("where a filter %s, nothing is found, and nothing is said of why", async (_, filter) => {
  const error = vi.fn();
  const search = { filter: filter as () => boolean };
  await using runtime = await start({ search, logger: { error } });
  const { outcome } = await runtime.execute(
    `try { return await searchTools("invoices"); } catch (e) { return [e.code, e.message.includes("directory")]; }`,
  );
  expect(outcome).toEqual({ type: "completed", value: ["handler_failed", false] });
  expect(error).toHaveBeenCalledOnce();
  await expect(runtime.searchTools("invoices")).rejects.toThrow();
});

test("a host searches for either caller and in either language", async () => {
  await using runtime = await start();
  expect(await runtime.searchTools("pay invoices", 1, { caller: "direct" })).toMatchObject([{ name: payroll.name }]);
  expect(await runtime.searchTools("invoices", 1, { language: "python" })).toMatchObject([{ stub: PYTHON_STUB }]);
  const orders = makeTool({
    name: "orders",
    inputSchema: z.object({}),
    outputSchema: z.object({ id: z.string() }),
    stream: true,
    allowedCallers: ["direct", "programmatic"],
    execute: () => [],
  });
  await using streaming = runtime.derive({ tools: [orders] });
  const stubFor = async (caller: "direct" | "programmatic") =>
    (await streaming.searchTools("orders", 1, { caller }))[0]?.stub;
  expect(await stubFor("programmatic")).toBe("tools.orders(input: {}): AsyncIterable<{ id: string }>");
  expect(await stubFor("direct")).toBe("tools.orders(input: {}): Promise<{ id: string }[]>");
  expect(await runtime.searchTools("nothing like it")).toEqual([]);
  const derived = runtime.derive({ tools: [weather] });
  expect(await derived.searchTools("weather or invoices")).toMatchObject([{ name: weather.name }]);
  await expect(runtime.searchTools(" ")).rejects.toThrow("searchTools(query): expected a non-blank string");
  await expect(runtime.searchTools("x", 0)).rejects.toThrow("searchTools(query, limit): expected");
});

test("no tool may have the reserved name", async () => {
  expect(() => tool("search_tools", () => null)).toThrow(/"search_tools".*reserved/);
  const tools = [{ ...weather, name: "search_tools" }];
  await expect(runtimeWith(tools)).rejects.toThrow(PortcullisError);
});

/** A vector of three dimensions: money, weather, anything. */
const embed = (texts: readonly string[]) =>
  Promise.resolve(texts.map((text) => [Number(/invoice|debt/i.test(text)), Number(/weather|rain/i.test(text)), 0.1]));

test("with vectors a tool is found that has no word of the query; each tool's vector is asked for once", async () => {
  const counted = vi.fn(embed);
  await using runtime = await start({ search: { embed: counted } });
  expect(await runtime.searchTools("do I need an umbrella in the rain", 1)).toMatchObject([{ name: weather.name }]);
  expect(await runtime.searchTools("debt", 1)).toMatchObject([{ name: invoices.name }]);
  expect(counted.mock.calls.map(([texts]) => texts.length)).toEqual([2, 1, 1]);
});

test("the words of a search are in no log, also where `embed` fails and quotes them", async () => {
  const told: unknown[] = [];
  const log = (...entry: readonly unknown[]) => void told.push(entry);
  await using runtime = await start({
    search: { embed: ([text = ""]) => Promise.reject(new TypeError(`no vector for ${text}`)) },
    logger: { error: log, warn: log },
  });
  const { outcome } = await runtime.execute(`return (await searchTools("clients that Zanzibar knows", 1))[0].name;`);
  expect(outcome).toEqual({ type: "completed", value: invoices.name });
  const logged = inspect(told, { depth: 20, showHidden: true });
  expect(logged).toMatch(/`embed` failed with TypeError/);
  expect(logged).not.toMatch(/zanzibar|no vector for/i);
});

test.each([
  ["rejects", () => Promise.reject(new Error("no vectors today"))],
  ["gives too few", () => Promise.resolve([])],
  [
    "gives lists of another length for the query",
    (texts: readonly string[]) => Promise.resolve(texts.map(() => (texts.length === 1 ? [1] : [1, 2]))),
  ],
  ["gives no numbers", (texts: readonly string[]) => Promise.resolve(texts.map(() => [Number.NaN]))],
])("where `embed` %s, programs find by words, and the operator is told", async (_, broken) => {
  const error = vi.fn<(entry: object, message: string) => void>();
  await using runtime = await start({ search: { embed: broken }, logger: { error } });
  const { outcome } = await runtime.execute(`return (await searchTools("invoices", 1))[0].name;`);
  expect(outcome).toEqual({ type: "completed", value: invoices.name });
  expect(error).toHaveBeenCalledOnce();
  expect(error.mock.calls[0]?.[1]).toContain("search_tools returned in call 1");
  await expect(runtime.searchTools("invoices")).rejects.toThrow();
});

test("an `embed` that does not answer holds up its own search for ten seconds, and no later one for ever", async () => {
  const clock = manualClock();
  const hangs = vi.fn(() => new Promise<never>(() => {}));
  await using runtime = await start({ search: { embed: hangs } });
  for (let search = 0; search < 2; search += 1) {
    const searching = runtime.searchTools("invoices").catch((error: Error) => error.message);
    await expect.poll(() => hangs.mock.calls.length).toBe(search + 1);
    await clock.advance(10_000);
    expect(await searching).toContain("it did not answer within 10000 ms");
  }
});

const many = catalogueTools();

const DECLARED = [
  ["ten tools", many.slice(0, 10).map((one) => ({ ...one, outputSchema: undefined })), false],
  ["4,000 tools", many, true],
  ["4,000 tools of 4,000 namespaces", many.map((one, place) => ({ ...one, name: `space${place}.${one.name}` })), true],
  ["4,000 tools without a namespace", many.map((one, place) => ({ ...one, name: `tool${place}` })), true],
  ["4,000 tools, all pinned", many.map((one) => ({ ...one, pinned: true })), true],
] as const;

test.each(someOf<(typeof DECLARED)[number]>(DECLARED, 3))(
  "%s are declared in at most 1,500 tokens",
  async (_, tools, isSearched) => {
    const model = scriptedModel([{ text: "done" }]);
    await using runtime = await runtimeWith(tools);
    await runtime.agent({ model, task: "x" });
    const { opening } = model.conversations.at(-1)?.[0] ?? {};
    const declared = [{ ...opening?.runProgram, input: PROGRAM_SCHEMA }, ...(opening?.tools ?? [])];
    expect(countTokens(declared.map((one) => JSON.stringify(one)).join("\n"))).toBeLessThanOrEqual(1500);
    expect(opening?.tools.map(({ name }) => name)).toEqual(isSearched ? ["search_tools"] : []);
    expect(opening?.runProgram?.description.includes("searchTools(")).toBe(isSearched);
  },
);

test("a model is told namespaces and pinned tools, finds a tool, and calls it from a program", async () => {
  const pinned = { ...weather, pinned: true };
  const fillers = Array.from({ length: 60 }, (_, place) => tool(`crm.thing${place}`, () => place));
  const model = scriptedModel([
    { calls: [{ id: "c1", tool: "search_tools", input: { query: "invoices of a customer", limit: 1 } }] },
    ({ results: [found] }) => {
      const [first] = JSON.parse(found?.text ?? "[]") as { name: string; stub: string }[];
      return { programs: [`return await ${first?.stub.split("(")[0]}({ customer: "K-1" });`] };
    },
    { text: "none" },
  ]);
  await using runtime = await runtimeWith([...fillers, invoices, pinned], { stubTokens: 900 });
  const report = await runtime.agent({ model, task: "Are there invoices of K-1?" });
  expect(report.ending).toEqual({ type: "answered", answer: "none" });
  const [{ opening }] = model.conversations[0] as unknown as [{ opening: { runProgram?: { description: string } } }];
  const { description = "" } = opening.runProgram ?? {};
  expect(description).toContain("tools.weather.today(input: ");
  expect(description).toContain("tools.crm.* (60): thing0, thing1");
  expect(description).toContain("tools.billing.* (1): listInvoices");
  expect(report.transcript.turns[0]?.results).toMatchObject([{ callId: "c1", isJson: true, isError: false }]);
  expect(report.calls.map(({ tool: name, callId }) => [callId, name])).toEqual([
    ["c1", "search_tools"],
    [expect.stringContaining("/1") as string, invoices.name],
  ]);
});

test("the journal has a digest of each definition that a model or a program was shown", async () => {
  const model = scriptedModel([{ programs: [`return await searchTools("invoices", 1);`] }, { text: "done" }]);
  await using runtime = await start();
  const digestOf = (shown: { readonly name: string }) => ({
    name: shown.name,
    digest: hash("sha256", JSON.stringify(shown)),
  });
  const { execution, calls } = await runtime.agent({ model, task: "x" });
  expect(calls).toHaveLength(1);
  const { opening } = model.conversations[0]?.[0] ?? {};
  const [header] = await runtime.execution(execution).records();
  expect(header).toMatchObject({
    shown: [opening?.runProgram, ...(opening?.tools ?? [])].flatMap((one) => (one ? [digestOf(one)] : [])),
  });
  const [found] = await runtime.searchTools("invoices", 1);
  const program = (await Array.fromAsync(runtime.executions.list())).find(({ kind }) => kind === "program");
  const records = await runtime.execution(program?.execution ?? "").records();
  expect(records.find(({ type }) => type === "answered")).toMatchObject({ shown: [found && digestOf(found)] });
});

test("an agent that is a tool searches among its own tools", async () => {
  const inner = scriptedModel([
    { programs: [`return (await searchTools("invoices weather", 5)).map(({ name }) => name);`] },
    ({ results: [result] }) => ({ text: result?.text ?? "" }),
  ]);
  const agent = agentOf("agent", inner, { tools: [weather], allowedCallers: ["programmatic"] });
  await using runtime = await runtimeWith([agent, invoices]);
  const { outcome } = await runtime.execute(`return tools.agent({ task: "x" });`);
  expect(outcome).toMatchObject({ type: "completed" });
  expect(JSON.stringify(outcome)).toContain("weather.today");
  expect(JSON.stringify(outcome)).not.toContain("listInvoices");
});
