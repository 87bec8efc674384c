import { Agent, OpenAIProvider, programmaticToolCallingTool, Runner, tool } from "@openai/agents";
import type Anthropic from "@anthropic-ai/sdk";
import { toResponseInputItems } from "openai/lib/responses/ResponseInputItems";
import type OpenAI from "openai";
import { expect, test } from "vitest";
import { z } from "zod";
import { chatWire } from "../../../models/openai/chat/wire.ts";
import { type Served, serve, type WireStep } from "../../../models/wire.ts";
import { openGateway, type OpenGateway } from "../gateways.ts";

/*
 * What the vendors document of hosted programs, request for request, with another base URL and another model: here one
 * behind Chat Completions, which has no hosted programs itself. Written anew; each test names where its example stands.
 */

const MODEL = "gpt-test";

async function hosting(
  script: readonly WireStep[],
  example: (gateway: OpenGateway, served: Served) => Promise<void>,
): Promise<void> {
  await using served = await serve(chatWire, script);
  await using gateway = await openGateway(served.model());
  await example(gateway, served);
  expect([served.refusals, gateway.errors]).toEqual([[], []]);
  expect(served.asked).toHaveLength(script.length);
}

// ---- Anthropic: platform.claude.com/docs, agents-and-tools/tool-use/programmatic-tool-calling ------------------

const QUERY_DATABASE = {
  name: "query_database",
  description: "Execute a SQL query against the sales database. Returns a list of rows as JSON objects.",
  input_schema: {
    type: "object" as const,
    properties: { sql: { type: "string", description: "SQL query to execute" } },
    required: ["sql"],
  },
  allowed_callers: ["code_execution_20260120" as const],
};
const CODE_EXECUTION = { type: "code_execution_20260120" as const, name: "code_execution" as const };

test("Anthropic, “Quick start”: one request by curl pauses at three queries", async () => {
  const program = `const regions = ["West", "East", "Central"];
const all = await Promise.all(regions.map((region) => tools.query_database({ sql: "SELECT * FROM " + region })));
return all.length;`;
  await hosting([{ calls: [{ program }] }], async ({ fetch }) => {
    const response = await fetch("http://localhost/v1/messages", {
      method: "POST",
      headers: {
        "x-api-key": "con-0123456789abcdef",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
      },
      body: JSON.stringify({
        model: MODEL,
        max_tokens: 4096,
        messages: [
          {
            role: "user",
            content:
              "Query sales data for the West, East, and Central regions, then tell me which region had the highest revenue",
          },
        ],
        tools: [CODE_EXECUTION, QUERY_DATABASE],
      }),
    });
    const message = (await response.json()) as Anthropic.Message;
    expect([response.status, message.stop_reason]).toEqual([200, "tool_use"]);
    const [code, ...calls] = message.content as unknown as readonly { readonly id: string; readonly type: string }[];
    expect(code).toMatchObject({ type: "server_tool_use", name: "code_execution" });
    const caller = { type: "code_execution_20260120", tool_id: code?.id };
    expect(calls).toHaveLength(3);
    // On a busy machine calls that a program makes at once are held in another order than they are made.
    expect(calls).toEqual(
      expect.arrayContaining(
        ["West", "East", "Central"].map((region): unknown =>
          expect.objectContaining({
            type: "tool_use",
            name: "query_database",
            input: { sql: `SELECT * FROM ${region}` },
            caller,
          }),
        ),
      ),
    );
    expect(message.container).toMatchObject({ id: expect.any(String), expires_at: expect.any(String) });
  });
});

/** In the documents the echoed program is `...`, without a caller, and the rows end in `...` too. */
test.each([
  ["as they are", '[{"customer_id":"C1","revenue":45000},{"customer_id":"C2","revenue":38000}]', '["C1","C2"]'],
  [
    "shortened, which are no JSON",
    '[{"customer_id":"C1","revenue":45000}, ...]',
    JSON.stringify({ text: '[{"customer_id":"C1","revenue":45000}, ...]' }),
  ],
])("Anthropic, “Example workflow”, steps 1 to 4, with rows %s", async (_, rows, answer) => {
  const program = `const rows = await tools.query_database({ sql: "SELECT 1" });
if (typeof rows === "string") return { text: rows };
return rows.sort((a, b) => b.revenue - a.revenue).slice(0, 5).map((row) => row.customer_id);`;
  const script = [
    { text: "I'll query the purchase history and analyze the results.", calls: [{ program }] },
    { text: "Those are the top customers." },
  ];
  await hosting(script, async ({ anthropic }, served) => {
    const { messages } = anthropic();
    const tools = [CODE_EXECUTION, QUERY_DATABASE];
    const question = {
      role: "user" as const,
      content: "Query customer purchase history from the last quarter and identify our top 5 customers by revenue",
    };
    const paused = await messages.create({ model: MODEL, max_tokens: 4096, messages: [question], tools });
    const [text, code, call] = paused.content as [
      Anthropic.TextBlock,
      Anthropic.ServerToolUseBlock,
      Anthropic.ToolUseBlock,
    ];
    const done = await messages.create({
      model: MODEL,
      max_tokens: 4096,
      container: paused.container?.id ?? "",
      messages: [
        question,
        {
          role: "assistant",
          content: [
            { type: "text", text: text.text },
            { type: "server_tool_use", id: code.id, name: "code_execution", input: { code: "..." } },
            { type: "tool_use", id: call.id, name: call.name, input: call.input, caller: call.caller },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: rows }] },
      ],
      tools,
    });
    expect(done.content).toMatchObject([
      {
        type: "code_execution_tool_result",
        tool_use_id: code.id,
        content: { type: "code_execution_result", stdout: answer, stderr: "", return_code: 0 },
      },
      { type: "text", text: "Those are the top customers." },
    ]);
    expect(done.stop_reason).toBe("end_turn");
    expect(served.asked[1]?.text).toContain(JSON.stringify(answer).slice(1, -1));
  });
});

/** platform.claude.com/cookbook/tool-use-programmatic-tool-calling-ptc: three tools, each of which needs the one before. */
test("Anthropic's cookbook: a team's expenses, in a loop over the beta API with the older tool version", async () => {
  const program = `const team = await tools.get_team_members({ department: "engineering" });
const over = [];
for (const { id } of team) {
  const expenses = await tools.get_expenses({ employee_id: id, quarter: "Q3" });
  const travel = expenses.filter((one) => one.status === "approved").reduce((sum, one) => sum + one.amount, 0);
  if (travel <= 5000) continue;
  const { travel_budget } = await tools.get_custom_budget({ user_id: id });
  if (travel > travel_budget) over.push(id);
}
return over;`;
  const members = ["ENG001", "ENG002", "ENG003"];
  const spent: Record<string, number> = { ENG001: 6000, ENG002: 6000, ENG003: 200 };
  const functions: Record<string, (input: Record<string, string>) => unknown> = {
    get_team_members: () => members.map((id) => ({ id, name: `Name of ${id}` })),
    get_expenses: ({ employee_id: id = "" }) => [
      { expense_id: `${id}_Q3_001`, amount: spent[id], status: "approved" },
      { expense_id: `${id}_Q3_002`, amount: 9999, status: "rejected" },
    ],
    get_custom_budget: ({ user_id: id }) => ({ user_id: id, travel_budget: id === "ENG002" ? 8000 : 5000 }),
  };
  const text = (name: string) => ({ properties: { [name]: { type: "string" } }, required: [name] });
  const schemas = {
    get_team_members: { ...text("department"), examples: [{ department: "engineering" }] },
    get_expenses: {
      properties: { employee_id: { type: "string" }, quarter: { type: "string" } },
      required: ["employee_id", "quarter"],
      examples: [{ employee_id: "ENG001", quarter: "Q3" }],
    },
    get_custom_budget: { ...text("user_id"), examples: [{ user_id: "ENG001" }] },
  };
  const tools: Anthropic.Beta.BetaToolUnion[] = [
    ...Object.entries(schemas).map(([name, { examples, ...schema }]) => ({
      name,
      description: `Does ${name}. Returns a JSON string.`,
      input_schema: { type: "object" as const, ...schema },
      input_examples: examples,
      allowed_callers: ["code_execution_20250825" as const],
    })),
    { type: "code_execution_20250825", name: "code_execution" },
  ];
  await hosting([{ calls: [{ program }] }, { text: "Only ENG001." }], async ({ anthropic }, served) => {
    const client = anthropic();
    const messages: Anthropic.Beta.BetaMessageParam[] = [
      { role: "user", content: "Which engineering team members exceeded their Q3 travel budget?" },
    ];
    let container: string | undefined;
    let response: Anthropic.Beta.BetaMessage;
    let requests = 0;
    do {
      response = await client.beta.messages.create({
        model: MODEL,
        max_tokens: 4000,
        tools,
        messages,
        betas: ["advanced-tool-use-2025-11-20"],
        ...(container === undefined ? {} : { container }),
      });
      requests += 1;
      container = response.container?.id;
      const calls = response.content.filter((block) => block.type === "tool_use");
      messages.push(
        { role: "assistant", content: response.content as Anthropic.Beta.BetaContentBlockParam[] },
        {
          role: "user",
          content: calls.map(({ id, name, input }) => ({
            type: "tool_result",
            tool_use_id: id,
            content: JSON.stringify(functions[name]?.(input as Record<string, string>)),
          })),
        },
      );
    } while (response.stop_reason === "tool_use");
    expect([response.stop_reason, requests]).toEqual(["end_turn", 7]);
    expect(response.content.at(-1)).toMatchObject({ type: "text", text: "Only ENG001." });
    expect(served.asked[1]?.text).toMatch(/\[\\"ENG001\\"\]/);
    expect(served.asked.map(({ text: body }) => body).join()).not.toContain("Q3_001");
  });
});

// ---- OpenAI: developers.openai.com/api/docs/guides/tools-programmatic-tool-calling -----------------------------

const SKU = { type: "object", properties: { sku: { type: "string" } }, required: ["sku"], additionalProperties: false };

function skuTool(name: string, field: string): OpenAI.Responses.Tool {
  return {
    type: "function",
    name,
    description: `Return an object with sku (string) and ${field} (number).`,
    parameters: SKU,
    output_schema: {
      type: "object",
      properties: { sku: { type: "string" }, [field]: { type: "number" } },
      required: ["sku", field],
      additionalProperties: false,
    },
    allowed_callers: ["programmatic"],
    strict: true,
  };
}

test.each([
  ["replays all items, which the official package makes of the output", false],
  ["goes on by previous_response_id", true],
])("OpenAI, “Continue after client-owned function calls”: the loop %s", async (_, store) => {
  const program = `const sku = "sku_123";
const [stock, demand] = await Promise.all([tools.get_inventory({ sku }), tools.get_demand({ sku })]);
const shortage_units = Math.max(demand.requested_units - stock.available_units, 0);
return { sku, available_units: stock.available_units, requested_units: demand.requested_units, shortage_units };`;
  const implementations: Record<string, (sku: string) => object> = {
    get_inventory: (sku) => ({ sku, available_units: 42 }),
    get_demand: (sku) => ({ sku, requested_units: 31 }),
  };
  const tools: OpenAI.Responses.Tool[] = [
    skuTool("get_inventory", "available_units"),
    skuTool("get_demand", "requested_units"),
    { type: "programmatic_tool_calling" },
  ];
  await hosting([{ calls: [{ program }] }, { text: "There is no shortage." }], async ({ openai }, served) => {
    const client = openai();
    let input: OpenAI.Responses.ResponseInputItem[] = [
      { role: "user", content: "Compare inventory with demand for sku_123." },
    ];
    let previous: string | undefined;
    for (;;) {
      const response = await client.responses.create({
        model: MODEL,
        store,
        input,
        tools,
        ...(previous === undefined ? {} : { previous_response_id: previous }),
      });
      expect(response.status).toBe("completed");
      const calls = response.output.flatMap((item) => (item.type === "function_call" ? [item] : []));
      if (calls.length === 0) {
        expect(response.output[0]).toMatchObject({
          type: "program_output",
          status: "completed",
          result: '{"sku":"sku_123","available_units":42,"requested_units":31,"shortage_units":0}',
        });
        expect(response.output_text).toBe("There is no shortage.");
        break;
      }
      const outputs = calls.map(({ name, call_id, arguments: text, caller }) => ({
        type: "function_call_output" as const,
        call_id,
        output: JSON.stringify(implementations[name]?.((JSON.parse(text) as { readonly sku: string }).sku)),
        caller,
      })) as OpenAI.Responses.ResponseInputItem[];
      input = store ? outputs : [...input, ...toResponseInputItems(response.output), ...outputs];
      if (store) previous = response.id;
    }
    // The model is told what its program may read of an answer.
    expect(served.asked[0]?.text).toContain("available_units");
  });
});

/** github.com/openai/openai-agents-js, examples/tools/programmatic-tool-calling.ts */
test("OpenAI's agents, the example of programmatic tool calling: nine calls at once, of a program that is forced", async () => {
  const sku = z.enum(["desk-lamp", "ergonomic-keyboard", "usb-c-dock"]);
  type Sku = z.infer<typeof sku>;
  const called: string[] = [];
  const lookUp = (name: string, field: string, units: Record<Sku, number>) =>
    tool({
      name,
      description: `Return ${field} for one SKU.`,
      parameters: z.object({ sku: sku.describe("The SKU to look up.") }),
      allowedCallers: ["programmatic"],
      outputSchema: z.object({ sku, [field]: z.number() }),
      execute: ({ sku: of }: { sku: Sku }) => {
        called.push(`${name} ${of}`);
        return { sku: of, [field]: units[of] };
      },
    } as never);
  const program = `const skus = ["desk-lamp", "ergonomic-keyboard", "usb-c-dock"];
const all = await Promise.all(skus.flatMap((sku) => [
  tools.get_inventory({ sku }), tools.get_weekly_demand({ sku }), tools.get_inbound_units({ sku }),
]));
const recommendations = skus.map((sku, index) => {
  const [{ availableUnits }, { forecastUnits }, { inboundUnits }] = all.slice(3 * index, 3 * index + 3);
  return { sku, reorderUnits: Math.max(forecastUnits + 5 - availableUnits - inboundUnits, 0) };
}).filter(({ reorderUnits }) => reorderUnits > 0).sort((a, b) => b.reorderUnits - a.reorderUnits);
return { recommendations, totalReorderUnits: recommendations.reduce((sum, one) => sum + one.reorderUnits, 0) };`;
  const agent = new Agent({
    name: "Replenishment planner",
    model: MODEL,
    instructions: "Use Programmatic Tool Calling to prepare a replenishment plan with a safety stock of 5 units.",
    modelSettings: { toolChoice: "programmatic_tool_calling" },
    tools: [
      lookUp("get_inventory", "availableUnits", { "desk-lamp": 12, "ergonomic-keyboard": 7, "usb-c-dock": 22 }),
      lookUp("get_weekly_demand", "forecastUnits", { "desk-lamp": 18, "ergonomic-keyboard": 16, "usb-c-dock": 14 }),
      lookUp("get_inbound_units", "inboundUnits", { "desk-lamp": 4, "ergonomic-keyboard": 2, "usb-c-dock": 0 }),
      programmaticToolCallingTool(),
    ],
  });
  await hosting([{ calls: [{ program }] }, { text: "Order 19 units." }], async ({ openai }, served) => {
    const modelProvider = new OpenAIProvider({ openAIClient: openai() as never, useResponses: true });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const result = await runner.run(agent, "Which products should we reorder this week, and in what quantities?");
    const items = result.newItems.flatMap((item) => (item.type === "tool_call_item" ? [item.rawItem] : []));
    expect(items.filter(({ type }) => type === "program")).toHaveLength(1);
    const ofProgram = items.filter((item) => item.type === "function_call" && item.caller?.type === "program");
    expect([ofProgram.length, new Set(called).size]).toEqual([9, 9]);
    expect(result.finalOutput).toBe("Order 19 units.");
    expect(served.asked[0]?.body.tool_choice).toMatchObject({ function: { name: "run_program" } });
    expect(served.asked[1]?.text).toContain('\\"totalReorderUnits\\":19');
  });
});
