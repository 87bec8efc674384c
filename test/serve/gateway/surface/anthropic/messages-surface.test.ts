/*
 * Holds the other files too that a surface is made of:
 * src/serve/gateway/surface/surface.ts
 * src/serve/gateway/surface/anthropic/read-messages.ts
 * src/serve/gateway/surface/anthropic/read-request.ts
 */
import { expect, test } from "vitest";
import { readMessage } from "../../../../../src/models/anthropic/reply.ts";
import { messagesSurface } from "../../../../../src/serve/gateway/surface/anthropic/messages-surface.ts";
import type { ReplyPart } from "../../../../../src/serve/gateway/surface/surface.ts";
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

test("what is written whole is what the adapter puts together from the events", () => {
  const parts: ReplyPart[] = [
    { type: "text", key: "a", id: "text_1", text: "One, two, three." },
    { type: "program", key: "b", id: "srvtoolu_1", source: "return 1", state: "container_1" },
    { type: "call", key: "c", id: "toolu_1", tool: "f", inputText: '{"a":[1]}', program: "srvtoolu_1" },
    { type: "program_ended", key: "d", id: "srvtoolu_1", text: "failed", isError: true, isLate: false },
    { type: "call", key: "e", id: "toolu_2", tool: "f", inputText: "{}" },
  ];
  const facts = {
    id: "msg_1",
    model: "m",
    echo: {},
    at: 0,
    state: { id: "container_1", expiresAt: 0 },
    usage: { inputTokens: 10, outputTokens: 2, cachedInputTokens: 4 },
    programs: { calls: 1, bytesIn: 2, bytesOut: 3 },
  };
  const message = messagesSurface.reply(parts, { type: "called" }, facts);
  expect(readMessage(message)).toMatchObject({
    text: "One, two, three.",
    stopReason: "tool_use",
    container: { id: "container_1" },
    usage: { inputTokens: 10, outputTokens: 2, cachedInputTokens: 4 },
  });
  const [first, ...rest] = parts;
  const writer = messagesSurface.writer(facts, (key) => ({ type: "text", key, id: key, text: "" }));
  const text =
    writer.begin() +
    writer.piece("One, ", "a") +
    (first ? writer.part(first, "two, three.") : "") +
    rest.map((part) => writer.part(part)).join("") +
    (writer.end({ type: "called" }, facts) as string);
  const events = text.trim().split("\n\n");
  for (const event of events) expect(event).toMatch(/^event: \w+\ndata: \{.*\}$/);
  expect(events.filter((event) => event.startsWith("event: content_block_start"))).toHaveLength(parts.length);
});
