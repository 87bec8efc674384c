import { expect, test } from "vitest";
import { responsesSurface } from "../../../../../src/serve/gateway/surface/openai/responses-surface.ts";
import { surfaceTests } from "../surface.suite.ts";

const CALLER = { type: "program", caller_id: "cprog_1" };
const BODY = {
  model: "m",
  instructions: "Be brief.",
  tools: [
    { type: "programmatic_tool_calling" },
    { type: "tool_search" },
    { type: "function", name: "f", description: "d", parameters: { type: "object" }, strict: true },
    {
      type: "namespace",
      name: "crm",
      description: "d",
      tools: [{ type: "function", name: "list", parameters: null, allowed_callers: ["direct", "programmatic"] }],
    },
    {
      type: "custom",
      name: "query",
      description: "Runs SQL.",
      format: { type: "grammar", syntax: "regex", definition: "SELECT .{1,100}" },
      allowed_callers: ["direct", "programmatic"],
    },
  ],
  tool_choice: { type: "function", name: "f" },
  temperature: 0.5,
  reasoning: { effort: "minimal" },
  text: { format: { type: "json_schema", name: "n", schema: { type: "object" } } },
  store: false,
  include: ["reasoning.encrypted_content"],
  input: [
    { role: "developer", content: "Be kind." },
    {
      role: "user",
      content: [
        { type: "input_text", text: "one" },
        { type: "input_image", image_url: "data:image/png;base64,aaaa" },
      ],
    },
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "First f." }], encrypted_content: "s" },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "So.", annotations: [] }] },
    { type: "function_call", call_id: "call_1", namespace: "crm", name: "list", arguments: "{}", caller: null },
    { type: "program", id: "prog_1", call_id: "cprog_1", code: "return 1", fingerprint: "fpr_1" },
    { type: "function_call", call_id: "call_2", name: "f", arguments: '{"a":1}', caller: CALLER },
    { type: "custom_tool_call", id: "ctc_1", call_id: "call_3", name: "query", input: 'SELECT "1"', caller: CALLER },
    { type: "custom_tool_call", id: "ctc_2", call_id: "call_4", name: "query", input: "SELECT 2\n", caller: null },
    { type: "function_call_output", call_id: "call_1", output: [{ type: "input_text", text: "1" }] },
    { type: "function_call_output", call_id: "call_2", output: "2", caller: CALLER },
    { type: "custom_tool_call_output", call_id: "call_3", output: "3", caller: CALLER },
    { type: "custom_tool_call_output", call_id: "call_4", output: [{ type: "input_text", text: "4" }] },
    { type: "program_output", id: "po_1", call_id: "cprog_1", result: "1", status: "completed" },
    { type: "reasoning", id: "rs_2", summary: [], content: [{ type: "reasoning_text", text: "So." }], status: null },
    { role: "assistant", content: "Done." },
    { role: "user", content: "two" },
  ],
};

test("a request is read into turns, with the outputs of their calls, and what was said", () => {
  expect(responsesSurface.read(BODY, new Headers())).toMatchObject({
    model: "m",
    instructions: "Be brief.\n\nBe kind.",
    programs: true,
    isStored: false,
    state: undefined,
    said: ["two"],
    turns: [
      {
        text: "So.",
        calls: [
          { type: "tool_call", id: "call_1", tool: "crm.list" },
          { type: "program_call", id: "cprog_1", source: "return 1" },
          { type: "tool_call", id: "call_4", tool: "query", inputText: '"SELECT 2\\n"' },
        ],
      },
      { text: "Done.", calls: [] },
    ],
    tools: [{ name: "f" }, { name: "list", namespace: "crm", callers: ["direct", "programmatic"] }, { name: "query" }],
    settings: { toolChoice: { tool: "f" }, reasoning: { effort: "low" }, answer: { type: "object" } },
  });
});

test("a call of a caller that is neither the model nor a program is refused", () => {
  const call = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" };
  const input = [
    { role: "user", content: "one" },
    { type: "program", id: "prog_1", call_id: "cprog_1", code: "return 1", fingerprint: "fpr_1" },
    { ...call, caller: { ...CALLER, type: "agent" } },
    { type: "function_call_output", call_id: "call_1", output: "1" },
  ];
  const refusal = expect.objectContaining({ kind: "invalid", place: "input[2].caller" }) as object;
  const asked = () => responsesSurface.read({ ...BODY, input }, new Headers());
  expect(asked).toThrow(expect.objectContaining({ refusal }) as Error);
});

/** Of the fields that are read: what each may be. */
const MAY_BE = {
  model: "string",
  input: "string array",
  instructions: "string",
  previous_response_id: "string",
  tools: "array",
  tool_choice: "object",
  stream: "boolean",
  store: "boolean",
  parallel_tool_calls: "boolean",
  temperature: "number",
  max_output_tokens: "number",
  reasoning: "object",
  "reasoning.effort": "",
  "reasoning.summary": "",
  text: "object",
  "text.format": "",
};

surfaceTests(responsesSurface, BODY, MAY_BE);
