import type Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { openGateway } from "./gateways.ts";

const DEPOT = {
  name: "depot",
  description: "Units of a depot.",
  input_schema: { type: "object" as const, properties: { id: { type: "number" } }, required: ["id"] },
  allowed_callers: ["code_execution_20260120" as const],
};
const PROGRAMS = { type: "code_execution_20260120" as const, name: "code_execution" as const };
const SUM = `const [a, b] = await Promise.all([tools.depot({ id: 1 }), tools.depot({ id: 2 })]);
return a.n + b.n;`;

const asked = (messages: Anthropic.MessageParam[], more: object = {}) => ({
  model: "m",
  max_tokens: 1000,
  messages,
  ...more,
});

test("a text is answered", async () => {
  await using gateway = await openGateway([({ said }) => ({ text: `heard ${said.at(-1)}`, usage: { inputTokens: 7, outputTokens: 2 } })]);
  const message = await gateway.anthropic().messages.create(asked([{ role: "user", content: "one" }]));
  expect(message).toMatchObject({
    type: "message",
    role: "assistant",
    model: "m",
    stop_reason: "end_turn",
    container: null,
    content: [{ type: "text", text: "heard one" }],
    usage: { input_tokens: 7, output_tokens: 2 },
  });
});

test("a program pauses at the client's tools, and goes on with its answers", async () => {
  await using gateway = await openGateway([
    { text: "I will add.", programs: [SUM] },
    ({ results }) => ({ text: `It is ${results[0]?.text}.` }),
  ]);
  const client = gateway.anthropic();
  const tools = [PROGRAMS, DEPOT];
  const history: Anthropic.MessageParam[] = [{ role: "user", content: "How many?" }];
  const paused = await client.messages.create(asked(history, { tools }));
  expect(paused.content.map(({ type }) => type)).toEqual(["text", "server_tool_use", "tool_use", "tool_use"]);
  expect(paused.stop_reason).toBe("tool_use");
  const calls = paused.content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
  expect(calls.map(({ input }) => input)).toEqual([{ id: 1 }, { id: 2 }]);
  history.push({ role: "assistant", content: paused.content as Anthropic.ContentBlockParam[] });
  history.push({
    role: "user",
    content: calls.map(({ id }, index) => ({ type: "tool_result", tool_use_id: id, content: JSON.stringify({ n: index + 10 }) })),
  });
  const done = await client.messages.create(asked(history, { tools, container: paused.container?.id }));
  expect(done.content).toMatchObject([
    { type: "code_execution_tool_result", content: { type: "code_execution_result", stdout: "21", return_code: 0 } },
    { type: "text", text: "It is 21." },
  ]);
  expect(done.stop_reason).toBe("end_turn");
  const again = await client.messages.create(asked(history, { tools, container: paused.container?.id }));
  expect(again.content).toEqual(done.content);
  expect(gateway.errors).toEqual([]);
});
