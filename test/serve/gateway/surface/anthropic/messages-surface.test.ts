import { expect, test } from "vitest";
import { messagesSurface } from "../../../../../src/serve/gateway/surface/anthropic/messages-surface.ts";
import { surfaceTests } from "../surface.suite.ts";

const HEADERS = new Headers({ "anthropic-version": "2023-06-01" });

const CALLER = { type: "code_execution_20260120", tool_id: "srvtoolu_1" };
const BODY = {
  model: "m",
  max_tokens: 100,
  system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
  tools: [
    { type: "code_execution_20260120", name: "code_execution" },
    { type: "tool_search_tool_bm25", name: "tool_search_tool_bm25" },
    { name: "f", description: "d", input_schema: { type: "object" }, allowed_callers: ["direct", CALLER.type] },
  ],
  tool_choice: { type: "auto" },
  temperature: 0.5,
  stop_sequences: ["END"],
  thinking: { type: "enabled", budget_tokens: 2000 },
  output_config: { format: { type: "json_schema", schema: { type: "object" } } },
  container: "container_1",
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "one" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "aaaa" } },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "…", signature: "s" },
        { type: "text", text: "So." },
        { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 }, caller: { type: "direct" } },
        { type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: { code: "return 1" } },
        { type: "tool_use", id: "toolu_2", name: "f", input: {}, caller: CALLER },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_2", content: "2" },
        { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "1" }], is_error: true },
      ],
    },
    {
      role: "assistant",
      content: [
        {
          type: "code_execution_tool_result",
          tool_use_id: "srvtoolu_1",
          content: { type: "code_execution_result", stdout: "1", stderr: "", return_code: 0, content: [] },
        },
        { type: "text", text: "Done." },
      ],
    },
    { role: "user", content: "two" },
  ],
};

test("a request is read into turns, with the answers of their calls, and what was said", () => {
  const asked = messagesSurface.read(BODY, HEADERS);
  expect(asked).toMatchObject({
    model: "m",
    instructions: "Be brief.",
    programs: true,
    state: "container_1",
    said: ["two"],
    turns: [
      {
        text: "So.",
        calls: [
          { type: "tool_call", id: "toolu_1", tool: "f", inputText: '{"a":1}' },
          { type: "program_call", id: "srvtoolu_1", source: "return 1" },
        ],
      },
      { said: [], text: "Done.", calls: [] },
    ],
    settings: { temperature: 0.5, stop: ["END"], reasoning: { effort: "low" }, answer: { type: "object" } },
  });
  expect(asked.turns[0]?.results).toEqual(
    new Map([
      ["toolu_1", { text: "1", isError: true, parts: [] }],
      ["srvtoolu_1", { text: "1", isError: false, parts: [] }],
    ]),
  );
});

const TOOL = { name: "g", description: "d", input_schema: { type: "object" } };
const SEARCH = { type: "tool_search_tool_bm25", name: "tool_search_tool_bm25" };
const PROGRAMS = { type: "code_execution_20260120", name: "code_execution" };
const USER = { role: "user", content: "one" };
const PROGRAM = { type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: { code: "return 1" } };
const CALL = { type: "tool_use", id: "toolu_1", name: "g", input: {} };

test.each<[string, object, string]>([
  ["thinking without its type", { thinking: { budget_tokens: 2000 } }, "thinking"],
  ["an effort that its provider does not have", { output_config: { effort: "none" } }, "output_config.effort"],
  ["the effort of another provider", { output_config: { effort: "minimal" } }, "output_config.effort"],
  [
    "a strict tool that programs may call",
    { tools: [PROGRAMS, { ...TOOL, strict: true, allowed_callers: [CALLER.type] }] },
    "tools.1.strict",
  ],
  ["tools that are all deferred", { tools: [SEARCH, { ...TOOL, defer_loading: true }] }, "tools"],
  [
    "a call of a caller that is neither the model nor a program",
    {
      messages: [
        USER,
        { role: "assistant", content: [PROGRAM, { ...CALL, caller: { ...CALLER, type: "agent_20270101" } }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "1" }] },
      ],
    },
    "messages.1.content.1.caller",
  ],
])("refused: %s", (_, change, place) => {
  const refusal = expect.objectContaining({ kind: "invalid", place }) as object;
  const asked = () => messagesSurface.read({ model: "m", max_tokens: 100, messages: [USER], ...change }, HEADERS);
  expect(asked).toThrow(expect.objectContaining({ refusal }) as Error);
});

test("a strict tool of the model alone is read, as are deferred tools beside programs", () => {
  const tools = [{ ...TOOL, strict: true, defer_loading: true }, SEARCH, PROGRAMS];
  const asked = messagesSurface.read({ model: "m", max_tokens: 100, messages: [USER], tools }, HEADERS);
  expect(asked.tools).toMatchObject([{ name: "g", isDeferred: true, callers: ["direct"] }]);
});

/** Of the fields that are read: what each may be. */
const MAY_BE = {
  model: "string",
  messages: "array",
  system: "string array",
  tools: "array",
  tool_choice: "",
  stream: "boolean",
  temperature: "number",
  max_tokens: "number",
  stop_sequences: "array",
  thinking: "object",
  "thinking.type": "",
  "thinking.display": "",
  "thinking.budget_tokens": "number",
  output_config: "object",
  "output_config.effort": "",
  "output_config.format": "",
};

surfaceTests(messagesSurface, BODY, MAY_BE, HEADERS);
