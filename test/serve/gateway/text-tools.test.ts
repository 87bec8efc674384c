import type OpenAI from "openai";
import { type ScriptedStep } from "portcullis/testing";
import { expect, test } from "vitest";
import { openGateway, responding } from "./gateways.ts";

const QUERY = {
  type: "custom" as const,
  name: "query",
  description: "Runs SQL.",
  format: { type: "grammar" as const, syntax: "regex" as const, definition: "SELECT .{1,100}" },
  allowed_callers: ["direct", "programmatic"],
};
const TOOLS = [{ type: "programmatic_tool_calling" }, QUERY] as unknown as OpenAI.Responses.Tool[];
const SCRIPT: readonly ScriptedStep[] = [
  { calls: [{ tool: "query", inputText: '"SELECT 1"' }] },
  { programs: ['const a = await tools.query("SELECT 2"); return a + "!";'] },
  ({ results }) => ({ text: `got ${results[0]?.text}` }),
];

interface Item {
  readonly type: string;
  readonly id: string;
  readonly call_id: string;
  readonly input: string;
  readonly caller: unknown;
}

for (const isStreamed of [false, true])
  for (const store of [true, false])
    test(`a custom tool gets its text as it is, from the model and from a program, ${isStreamed ? "streamed" : "whole"}, ${store ? "stored" : "not stored"}`, async () => {
      await using gateway = await openGateway(SCRIPT);
      const ask = responding(gateway, isStreamed, { store, tools: TOOLS });
      const inputs: string[] = [];
      const input: object[] = [{ role: "user", content: "Ask." }];
      let response = await ask({ input });
      for (let rounds = 0; rounds < 2; rounds += 1) {
        const items = response.output as unknown as readonly Item[];
        const call = items.find(({ type }) => type === "custom_tool_call");
        inputs.push(String(call?.input));
        const output = { type: "custom_tool_call_output", call_id: call?.call_id, output: "row", caller: call?.caller };
        input.push(...items, output);
        response = await ask(store ? { previous_response_id: response.id, input: [output] } : { input });
      }
      expect(inputs).toEqual(["SELECT 1", "SELECT 2"]);
      expect(response.output_text).toBe('got "row!"');
    });

test("a text that does not fit never reaches the client, and other grammars are refused by name", async () => {
  const script: readonly ScriptedStep[] = [
    { calls: [{ tool: "query", inputText: '"DROP TABLE a"' }] },
    ({ results }) => ({ text: `told: ${results[0]?.isError}` }),
  ];
  await using gateway = await openGateway(script);
  const { responses } = gateway.openai();
  const response = await responses.create({ model: "m", tools: TOOLS, input: "x" });
  expect([response.output.length, response.output_text]).toEqual([1, "told: true"]);
  for (const format of [
    { type: "grammar", syntax: "lark", definition: "start: A" },
    { type: "grammar", syntax: "regex" },
    { type: "verse" },
    { type: "grammar", syntax: "regex", definition: "(a+" },
  ])
    await expect(
      responses.create({ model: "m", input: "x", tools: [{ ...QUERY, allowed_callers: ["direct"], format }] as never }),
    ).rejects.toMatchObject({ status: 400, message: expect.stringContaining("tools[0]") });
});
