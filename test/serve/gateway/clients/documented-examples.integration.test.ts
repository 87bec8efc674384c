import type Anthropic from "@anthropic-ai/sdk";
import { toResponseInputItems } from "openai/lib/responses/ResponseInputItems";
import type OpenAI from "openai";
import { expect, test } from "vitest";
import { chatWire } from "../../../models/openai/chat/wire.ts";
import { type Served, serve, type WireStep } from "../../../models/wire.ts";
import { openGateway, type OpenGateway, PROGRAMS } from "../gateways.ts";

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
    const asked = { model: MODEL, max_tokens: 4096, tools: [PROGRAMS, QUERY_DATABASE] };
    const question = {
      role: "user" as const,
      content: "Query customer purchase history from the last quarter and identify our top 5 customers by revenue",
    };
    const paused = await messages.create({ ...asked, messages: [question] });
    const [text, code, call] = paused.content as [
      Anthropic.TextBlock,
      Anthropic.ServerToolUseBlock,
      Anthropic.ToolUseBlock,
    ];
    const { id, name, input, caller } = call;
    const content: Anthropic.ContentBlockParam[] = [
      { type: "text", text: text.text },
      { type: "server_tool_use", id: code.id, name: "code_execution", input: { code: "..." } },
      { type: "tool_use", id, name, input, caller },
    ];
    const result = { type: "tool_result" as const, tool_use_id: id, content: rows };
    const history = [question, { role: "assistant" as const, content }, { role: "user" as const, content: [result] }];
    const done = await messages.create({ ...asked, container: paused.container?.id ?? "", messages: history });
    const printed = { type: "code_execution_result", stdout: answer, stderr: "", return_code: 0 };
    expect(done.content).toMatchObject([
      { type: "code_execution_tool_result", tool_use_id: code.id, content: printed },
      { type: "text", text: "Those are the top customers." },
    ]);
    expect(done.stop_reason).toBe("end_turn");
    expect(served.asked[1]?.text).toContain(JSON.stringify(answer).slice(1, -1));
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
      const body = { model: MODEL, store, input, tools, previous_response_id: previous };
      const response = await client.responses.create(body);
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
