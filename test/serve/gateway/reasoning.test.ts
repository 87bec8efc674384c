import type Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { createMemoryJournal } from "portcullis/journal";
import type { Model, ModelConversation } from "portcullis/models";
import { scriptedModel, type ScriptedStep } from "portcullis/testing";
import {
  answered,
  functionTool,
  messageTool,
  openGateway,
  outputsOf,
  PROGRAMS,
  responding,
  RESPONSES_PROGRAMS,
  WAYS,
} from "./gateways.ts";

const SCRIPT: readonly ScriptedStep[] = [
  { reasoning: "First the stock.", text: "I look.", calls: [{ tool: "stock", input: { id: 1 } }] },
  ({ results }) => ({ reasoning: "Now I know.", text: `It is ${results[0]?.text}.` }),
];
const QUESTION = { role: "user" as const, content: "How many?" };
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test.each(WAYS)(
  "Anthropic's client gets signed thinking before the text, and sends it back, %s",
  async (_, isStreamed) => {
    await using gateway = await openGateway(SCRIPT);
    const { messages } = gateway.anthropic();
    const ask = (sent: Anthropic.MessageParam[]) => {
      const tools = [messageTool("stock", ["direct"])];
      const body = { model: "m", max_tokens: 4000, thinking: { type: "adaptive" as const }, tools, messages: sent };
      return isStreamed ? messages.stream(body).finalMessage() : messages.create(body);
    };
    const first = await ask([QUESTION]);
    expect(first.content).toMatchObject([
      { type: "thinking", thinking: "First the stock.", signature: expect.stringMatching(/^[\w-]{30,}$/) },
      { type: "text", text: "I look." },
      { type: "tool_use", name: "stock" },
    ]);
    expect((await ask(answered([QUESTION], first, "7"))).content).toMatchObject([
      { type: "thinking", thinking: "Now I know." },
      { type: "text", text: 'It is "7".' },
    ]);
    expect(await Array.fromAsync(gateway.journal.list())).toHaveLength(1);
  },
);

for (const store of [true, false])
  test.each(WAYS)(
    `OpenAI's client gets reasoning items, ${store ? "refers to them" : "sends them back encrypted"}, %s`,
    async (_, isStreamed) => {
      await using gateway = await openGateway(SCRIPT);
      const respond = responding(gateway, isStreamed, {
        store,
        reasoning: { effort: "low", summary: "auto" },
        include: ["reasoning.encrypted_content"],
        tools: [functionTool("stock", ["direct"])],
      });
      const ask = (input: unknown) => respond({ input });
      const first = await ask([QUESTION]);
      const summary = [{ type: "summary_text", text: "First the stock." }];
      expect(first.output).toMatchObject([
        { type: "reasoning", id: expect.stringMatching(/^rs_/), summary, encrypted_content: expect.any(String) },
        { type: "message" },
        { type: "function_call", name: "stock" },
      ]);
      const before = store ? first.output.map(({ id }) => ({ type: "item_reference", id })) : first.output;
      const second = await ask([QUESTION, ...before, ...outputsOf(first, "7")]);
      expect(second.output).toMatchObject([{ type: "reasoning" }, { type: "message" }]);
      expect(second.output_text).toBe('It is "7".');
      expect(second.output[0]?.id).not.toBe(first.output[0]?.id);
      expect(await Array.fromAsync(gateway.journal.list())).toHaveLength(1);
    },
  );

test("text after reasoning after text arrives whole in a stream, on both wires", async () => {
  const scripted = scriptedModel([{ text: "One, two." }], { name: "scripted:m" });
  const converse: Model["converse"] = async (opening) => {
    const conversation = await scripted.converse(opening);
    const turn: ModelConversation["turn"] = (request) => {
      request.onText("One");
      request.onReasoning?.("Hm");
      request.onText(", two");
      return conversation.turn({ ...request, onText: () => {}, onReasoning: () => {} });
    };
    return { ...conversation, turn };
  };
  await using gateway = await openGateway({ ...scripted, converse });
  const thinking = { type: "adaptive" as const };
  const { messages } = gateway.anthropic();
  const asked = { model: "m", max_tokens: 4000, thinking, messages: [QUESTION] };
  const message = await messages.stream(asked).finalMessage();
  expect(message.content).toMatchObject([
    { type: "text", text: "One, two." },
    { type: "thinking", thinking: "Hm" },
  ]);
  const respond = responding(gateway, true, { reasoning: { summary: "auto" } });
  const { output, output_text: text } = await respond({ input: [QUESTION] });
  expect([output.map(({ type }) => type), text]).toEqual([["message", "reasoning"], "One, two."]);
});

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
    { calls: [{ tool: "look", input: { id: 1 } }] },
    ({ results }) => {
      seen.push(results[0]?.parts);
      return { text: "A dot." };
    },
  ];
  await using gateway = await openGateway(script);
  const { messages } = gateway.anthropic();
  const asked = { model: "m", max_tokens: 100, tools: [messageTool("look", ["direct"])] };
  const called = await messages.create({ ...asked, messages: [QUESTION] });
  const source = { type: "base64", media_type: "image/png", data: PICTURE };
  const image = [
    { type: "text", text: "here" },
    { type: "image", source },
  ];
  await messages.create({ ...asked, messages: answered([QUESTION], called, () => image as never) });
  const { responses } = gateway.openai();
  const tools = [functionTool("look", ["direct"])];
  const first = await responses.create({ model: "m", input: "Look.", tools });
  const output = [
    { type: "input_text", text: "here" },
    { type: "input_image", image_url: `data:image/png;base64,${PICTURE}`, detail: "auto" },
  ];
  const input = outputsOf(first, output as never);
  await responses.create({ model: "m", tools, previous_response_id: first.id, input });
  const part = { type: "image", mediaType: "image/png", data: PICTURE };
  expect(seen).toEqual([[part], [part]]);
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
  const mine = [messageTool("a-b", ["direct"]), PROGRAMS];
  const theirs = [functionTool("a-b", ["direct"]), RESPONSES_PROGRAMS];
  const named = (name: string) => ({ type: "tool" as const, name });
  for (const tool_choice of [{ type: "any" }, { type: "none" }, named("a-b"), named("code_execution")] as const)
    await messages.create({ model: "m", max_tokens: 10, tools: mine, tool_choice, messages: [QUESTION] });
  const one = { type: "function", name: "a-b" } as const;
  for (const tool_choice of ["required", "none", one, { type: "programmatic_tool_calling" }] as const)
    await responses.create({ model: "m", tools: theirs, tool_choice, input: "x" });
  const all = ["required", "none", { tool: "a_b" }, { tool: "run_program" }];
  expect(forced).toEqual([...all, ...all]);
});
