import type OpenAI from "openai";
import { expect, test } from "vitest";
import { createMemoryJournal } from "portcullis/journal";
import { scriptedModel, type ScriptedStep } from "portcullis/testing";
import { openGateway } from "./gateways.ts";

const SCRIPT: readonly ScriptedStep[] = [
  { reasoning: "First the stock.", text: "I look.", calls: [{ tool: "stock", input: { id: 1 } }] },
  ({ results }) => ({ reasoning: "Now I know.", text: `It is ${results[0]?.text}.` }),
];
const INPUT = { type: "object" as const, properties: { id: { type: "number" } } };
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

for (const isStreamed of [false, true]) {
  const way = isStreamed ? "streamed" : "whole";

  test(`Anthropic's client gets signed thinking before the text, and sends it back, ${way}`, async () => {
    await using gateway = await openGateway(SCRIPT);
    const { messages } = gateway.anthropic();
    const asked = {
      model: "m",
      max_tokens: 4000,
      thinking: { type: "adaptive" as const },
      tools: [{ name: "stock", input_schema: INPUT }],
    };
    const ask = (sent: Parameters<typeof messages.create>[0]["messages"]) =>
      isStreamed
        ? messages.stream({ ...asked, messages: sent }).finalMessage()
        : messages.create({ ...asked, messages: sent });
    const first = await ask([{ role: "user", content: "How many?" }]);
    expect(first.content).toMatchObject([
      { type: "thinking", thinking: "First the stock.", signature: expect.stringMatching(/^[\w-]{30,}$/) },
      { type: "text", text: "I look." },
      { type: "tool_use", name: "stock" },
    ]);
    const call = first.content.find(({ type }) => type === "tool_use") as { id: string };
    const second = await ask([
      { role: "user", content: "How many?" },
      { role: "assistant", content: first.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "7" }] },
    ]);
    expect(second.content).toMatchObject([
      { type: "thinking", thinking: "Now I know." },
      { type: "text", text: 'It is "7".' },
    ]);
    expect(await Array.fromAsync(gateway.journal.list())).toHaveLength(1);
    expect(gateway.errors).toEqual([]);
  });

  for (const store of [true, false])
    test(`OpenAI's client gets reasoning items, ${store ? "refers to them" : "sends them back encrypted"}, ${way}`, async () => {
      await using gateway = await openGateway(SCRIPT);
      const { responses } = gateway.openai();
      const asked = {
        model: "m",
        store,
        reasoning: { effort: "low" as const, summary: "auto" as const },
        include: ["reasoning.encrypted_content" as const],
        tools: [{ type: "function" as const, name: "stock", parameters: INPUT, strict: false }],
      };
      const ask = (input: string | readonly object[]) =>
        isStreamed
          ? responses.stream({ ...asked, input: input as never }).finalResponse()
          : responses.create({ ...asked, input: input as never });
      const first = await ask("How many?");
      const [reasoning, , call] = first.output as unknown as readonly {
        readonly id: string;
        readonly call_id: string;
      }[];
      expect(first.output).toMatchObject([
        {
          type: "reasoning",
          id: expect.stringMatching(/^rs_/),
          summary: [{ type: "summary_text", text: "First the stock." }],
          encrypted_content: expect.any(String),
        },
        { type: "message" },
        { type: "function_call", name: "stock" },
      ]);
      const output = { type: "function_call_output", call_id: call?.call_id, output: "7" };
      const before = store ? first.output.map(({ id }) => ({ type: "item_reference", id })) : first.output;
      const second = await ask([{ role: "user", content: "How many?" }, ...before, output]);
      expect(second.output).toMatchObject([{ type: "reasoning" }, { type: "message" }]);
      expect(second.output_text).toBe('It is "7".');
      expect(second.output[0]?.id).not.toBe(reasoning?.id);
      expect(await Array.fromAsync(gateway.journal.list())).toHaveLength(1);
      expect(gateway.errors).toEqual([]);
    });
}

test("who asks for no summary gets none, and a model that gives none is asked for none", async () => {
  const journal = createMemoryJournal();
  const first = await openGateway([{ reasoning: "Hm.", text: "So." }], { journal });
  const { output } = await first.openai().responses.create({ model: "m", input: "x", reasoning: { effort: "low" } });
  expect(output.map(({ type }) => type)).toEqual(["message"]);
  const asked = { model: "m", input: "x", reasoning: { summary: "auto" as const } };
  const told = await first.openai().responses.create(asked);
  expect(told.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
  const { givesSummaries: _, ...model } = scriptedModel([{ reasoning: "Hm.", text: "So." }], { name: "scripted:m" });
  await using without = await openGateway(model);
  expect((await without.openai().responses.create(asked)).output).toMatchObject([{ type: "message" }]);
});

test("what the system says later is one of the instructions, with its place, on both wires", async () => {
  const heard: (string | undefined)[] = [];
  const step: ScriptedStep = ({ opening }) => {
    heard.push(opening.instructions);
    return { text: "ok" };
  };
  await using gateway = await openGateway([step, step]);
  const turns = [
    { role: "user" as const, content: "One" },
    { role: "assistant" as const, content: "1" },
    { role: "system" as const, content: "Be brief." },
    { role: "user" as const, content: "Two" },
  ];
  await gateway.anthropic().messages.create({
    model: "m",
    max_tokens: 10,
    system: "Count.",
    messages: turns,
  });
  await gateway.openai().responses.create({ model: "m", instructions: "Count.", input: turns });
  for (const told of heard)
    expect(told).toContain("Count.\n\nAfter message 1 of the user, the system said:\n\nBe brief.");
  expect(heard).toHaveLength(2);
});

test("pictures in results reach the model, from both official clients", async () => {
  const seen: unknown[] = [];
  const script: readonly ScriptedStep[] = [
    { calls: [{ tool: "look", input: {} }] },
    ({ results }) => {
      seen.push(results[0]?.parts);
      return { text: "A dot." };
    },
  ];
  await using gateway = await openGateway(script);
  const { messages } = gateway.anthropic();
  const asked = { model: "m", max_tokens: 100, tools: [{ name: "look", input_schema: { type: "object" as const } }] };
  const user = { role: "user" as const, content: "Look." };
  const called = await messages.create({ ...asked, messages: [user] });
  const { id } = called.content[0] as { id: string };
  const source = { type: "base64" as const, media_type: "image/png" as const, data: PICTURE };
  const result = {
    type: "tool_result" as const,
    tool_use_id: id,
    content: [
      { type: "text" as const, text: "here" },
      { type: "image" as const, source },
    ],
  };
  const answer = { role: "user" as const, content: [result] };
  await messages.create({ ...asked, messages: [user, { role: "assistant", content: called.content }, answer] });
  const { responses } = gateway.openai();
  const tools = [{ type: "function" as const, name: "look", parameters: { type: "object" }, strict: false }];
  const first = await responses.create({ model: "m", input: "Look.", tools });
  const call = first.output[0] as { call_id: string };
  const output = [
    { type: "input_text" as const, text: "here" },
    { type: "input_image" as const, image_url: `data:image/png;base64,${PICTURE}`, detail: "auto" as const },
  ];
  await responses.create({
    model: "m",
    tools,
    previous_response_id: first.id,
    input: [{ type: "function_call_output", call_id: call.call_id, output }],
  });
  expect(seen).toEqual([
    [{ type: "image", mediaType: "image/png", data: PICTURE }],
    [{ type: "image", mediaType: "image/png", data: PICTURE }],
  ]);
});

test("a forced choice is the model's, by the name that the tool has there, also of a program", async () => {
  const forced: unknown[] = [];
  const step: ScriptedStep = ({ toolChoice }) => {
    forced.push(toolChoice);
    return { text: "ok" };
  };
  await using gateway = await openGateway(Array.from({ length: 10 }, () => step));
  const { messages } = gateway.anthropic();
  const { responses } = gateway.openai();
  const mine = [
    { name: "a-b", input_schema: INPUT },
    { type: "code_execution_20260120" as const, name: "code_execution" as const },
  ];
  const theirs = [
    { type: "function" as const, name: "a-b", parameters: INPUT, strict: false },
    { type: "programmatic_tool_calling" },
  ] as unknown as readonly OpenAI.Responses.Tool[];
  for (const tool_choice of [
    { type: "any" },
    { type: "none" },
    { type: "tool", name: "a-b" },
    { type: "tool", name: "code_execution" },
  ] as const)
    await messages.create({
      model: "m",
      max_tokens: 10,
      tools: mine,
      tool_choice,
      messages: [{ role: "user", content: "x" }],
    });
  for (const tool_choice of [
    "required",
    "none",
    { type: "function", name: "a-b" },
    { type: "programmatic_tool_calling" },
  ] as const)
    await responses.create({ model: "m", tools: [...theirs], tool_choice, input: "x" });
  const all = ["required", "none", { tool: "a_b" }, { tool: "run_program" }];
  expect(forced).toEqual([...all, ...all]);
});
