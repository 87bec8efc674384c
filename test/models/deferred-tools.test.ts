import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/runtime/testing.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { makeTool } from "../gate/open-session.ts";
import { catalogueTools } from "../tools/search/catalogue-tools.ts";
import { serve, type WireStep } from "./wire.ts";
import { WIRES, anthropicWire, responsesWire } from "./wires.ts";
import { answered, runtimeWith } from "../support/runtime.ts";

const direct = ["direct"] as const;
const refunds = makeTool({
  name: "billing.refund",
  description: "Gives a customer the money back.",
  inputSchema: z.object({ invoice: z.string() }),
  allowedCallers: direct,
  execute: ({ invoice }) => ({ refunded: invoice }),
});
const clock = makeTool({ name: "clock", description: "The time.", allowedCallers: direct, pinned: true });
const TOOLS = [
  { ...refunds, defer: true },
  { ...makeTool({ name: "crm.note", allowedCallers: direct }), defer: true },
  clock,
];

const search = { query: "money back", limit: 1 };
const SEARCH: WireStep = { calls: [{ id: "call_s", tool: "search_tools", input: search }] };
const CALL: WireStep = { calls: [{ id: "call_r", tool: "billing_refund", input: { invoice: "R-1" } }] };

/** Names of the tools that a request declares and does not hide from the model. */
function shownIn(body: Readonly<Record<string, unknown>> | undefined): readonly unknown[] {
  const tools = (body?.tools ?? []) as readonly Readonly<Record<string, unknown>>[];
  return tools
    .flatMap((one) => (one.functionDeclarations as typeof tools | undefined) ?? [one])
    .filter((one) => one.defer_loading !== true)
    .map((one) => (one.function as { name: string } | undefined)?.name ?? one.name ?? one.type);
}

describe.each(WIRES)("with %s", (name, wire) => {
  test("a deferred tool is found by a search, declared, and called", async () => {
    await using served = await serve(wire, [SEARCH, CALL, { text: "done" }]);
    await using runtime = await runtimeWith(TOOLS);
    const report = await runtime.agent({ model: served.model({}), task: "Give R-1 back." });
    expect(report.ending).toEqual({ type: "answered", answer: "done" });
    expect(report.calls.map(({ tool, outcome }) => [tool, outcome.type])).toEqual([
      ["search_tools", "value"],
      ["billing.refund", "value"],
    ]);
    const [first, second, third] = served.asked.map(({ body }) => shownIn(body));
    expect(first?.toSorted()).toEqual(["clock", "search_tools"]);
    const grows = name.startsWith("Gemini") || name.includes("Chat");
    const later = [...(first ?? []), ...(grows ? ["billing_refund"] : [])];
    expect([second, third]).toEqual([later, later]);
    expect(report.transcript.turns[0]?.results).toMatchObject([{ found: ["billing.refund"] }]);
    const [header] = await runtime.execution(report.execution).records();
    expect(JSON.stringify(header)).not.toContain('"shown":[{"name":"billing.refund"');
  });

  test("a search that finds nothing, and one that is refused, are answered", async () => {
    const asks = (id: string, input: unknown): WireStep => ({ calls: [{ id, tool: "search_tools", input }] });
    await using served = await serve(wire, [
      asks("c1", { query: "zeppelin" }),
      asks("c2", { query: 7 }),
      { text: "none" },
    ]);
    const report = await answered(TOOLS, { model: served.model({}), task: "x" });
    expect(report.ending).toEqual({ type: "answered", answer: "none" });
    expect(report.calls.map(({ outcome }) => outcome.type)).toEqual(["value", "refused"]);
    expect(shownIn(served.asked[2]?.body)).toEqual(shownIn(served.asked[0]?.body));
  });
});

test.each([
  ["Anthropic gets references to what was found, beside the result", anthropicWire],
  ["OpenAI gets the definitions of what was found in an item after the results", responsesWire],
])("%s", async (_, wire) => {
  await using served = await serve(wire, [SEARCH, { text: "done" }]);
  await answered(TOOLS, { model: served.model({}), task: "x" });
  const { messages, input } = (served.asked[1]?.body ?? {}) as Record<string, { content: { content: unknown[] }[] }[]>;
  if (wire === anthropicWire)
    expect(messages?.at(-1)?.content[0]?.content.slice(1)).toEqual([
      { type: "tool_reference", tool_name: "billing_refund" },
    ]);
  else {
    const tools = [{ type: "function", name: "billing_refund" }];
    expect(input?.at(-1)).toMatchObject({ type: "additional_tools", role: "developer", tools });
  }
});

test("direct tools are deferred where they are many, but for those that are pinned or say otherwise", async () => {
  const model = scriptedModel([{ text: "done" }]);
  const many = catalogueTools()
    .slice(0, 400)
    .map((one): Tool => ({ ...one, allowedCallers: direct }));
  const kept: Tool = { ...refunds, defer: false };
  await answered([...many, kept, clock], { model, task: "x" });
  const { opening } = model.conversations[0]?.[0] ?? {};
  expect(opening?.tools.map(({ name }) => name)).toEqual(["billing.refund", "clock", "search_tools"]);
  expect(opening?.deferred).toHaveLength(many.length);
  await using few = await runtimeWith([refunds, clock]);
  await few.agent({ model, task: "x" });
  expect(model.conversations[1]?.[0]?.opening.deferred).toBeUndefined();
});

test("a model with programs and deferred tools finds both, each with how it is called", async () => {
  const model = scriptedModel([
    { calls: [{ id: "c1", tool: "search_tools", input: { query: "money back to a customer, or their invoices" } }] },
    { text: "done" },
  ]);
  const invoices = makeTool({ name: "billing.invoices", description: "Invoices of a customer." });
  const { transcript } = await answered([...TOOLS, invoices], { model, task: "x" });
  const [result] = transcript.turns[0]?.results ?? [];
  const found = JSON.parse(result?.text ?? "[]") as { name: string; stub: string }[];
  expect(Object.fromEntries(found.map(({ name, stub }) => [name, stub.split(" ")[0]]))).toEqual({
    "billing.refund": "(called",
    "billing.invoices": "tools.billing.invoices(input:",
  });
  expect(result?.found).toEqual(["billing.refund"]);
});
