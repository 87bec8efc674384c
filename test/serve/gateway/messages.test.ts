import type Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { scriptedModel, type ScriptedStep } from "portcullis/testing";
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
  // Calls that a program makes at once may reach the client in any order.
  const calls = paused.content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
  expect(new Set(calls.map(({ input }) => (input as { readonly id: number }).id))).toEqual(new Set([1, 2]));
  history.push({ role: "assistant", content: paused.content as Anthropic.ContentBlockParam[] });
  history.push({
    role: "user",
    content: calls.map(({ id }, index) => ({
      type: "tool_result",
      tool_use_id: id,
      content: JSON.stringify({ n: index + 10 }),
    })),
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

test("a hosted program after one that failed is answered as that one was, and the client is asked for nothing again", async () => {
  await using gateway = await openGateway([
    { programs: [SUM.replace("return a.n", "return c.n")] },
    { programs: [SUM] },
    ({ results }) => ({ text: `Then ${results[0]?.text}` }),
  ]);
  const client = gateway.anthropic();
  const tools = [PROGRAMS, DEPOT];
  const history: Anthropic.MessageParam[] = [{ role: "user", content: "How many?" }];
  const paused = await client.messages.create(asked(history, { tools }));
  const calls = paused.content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
  expect(calls).toHaveLength(2);
  history.push({ role: "assistant", content: paused.content as Anthropic.ContentBlockParam[] });
  history.push({
    role: "user",
    content: calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: '{"n":4}' })),
  });
  const done = await client.messages.create(asked(history, { tools, container: paused.container?.id }));
  expect(done.stop_reason).toBe("end_turn");
  expect(done.content.filter(({ type }) => type === "tool_use")).toEqual([]);
  expect(done.content.at(-1)).toMatchObject({ type: "text", text: expect.stringContaining("Then 8") as string });
  expect(done.content.at(-1)).toMatchObject({ text: expect.stringContaining("answered from before") as string });
  expect(gateway.errors).toEqual([]);
});

const direct = (name: string) => ({
  name,
  description: `Does ${name}.`,
  input_schema: { type: "object" as const, properties: { id: { type: "number" } }, required: ["id"] },
});

test.each([
  ["without threads", { thread: false }],
  ["eagerly", { stream: true, runToolsEagerly: true }],
])(
  "the official tool runner answers a program's calls, %s",
  async (_, more) => {
    await using gateway = await openGateway([
      { text: "First.", programs: [SUM] },
      ({ results }) => ({ text: `It is ${results[0]?.text}.`, calls: [{ tool: "stock", input: { id: 3 } }] }),
      ({ results }) => ({ text: `Stock: ${results[0]?.text}` }),
    ] satisfies ScriptedStep[]);
    const client = gateway.anthropic();
    const runner = client.beta.messages.toolRunner({
      model: "m",
      max_tokens: 1000,
      messages: [{ role: "user", content: "How many?" }],
      tools: [
        PROGRAMS,
        { ...DEPOT, run: ({ id }: { id: number }) => JSON.stringify({ n: id * 10 }), parse: (value: unknown) => value },
        { ...direct("stock"), run: () => "plenty", parse: (value: unknown) => value },
      ],
      ...more,
    } as never) as unknown as { runUntilDone: () => Promise<Anthropic.Beta.BetaMessage> };
    const last = await runner.runUntilDone();
    expect(last.content).toMatchObject([{ type: "text", text: 'Stock: "plenty"' }]);
    expect(last.stop_reason).toBe("end_turn");
    expect(gateway.errors).toEqual([]);
  },
  20_000,
);

test("other instructions and tools that come with the answers to a program hold from there on", async () => {
  const told: ScriptedStep = ({ opening: { instructions, tools }, results }) => ({
    text: `${results[0]?.text} ${tools[0]?.name} ${instructions?.match(/Be \w+/)?.[0]}`,
  });
  await using gateway = await openGateway([{ programs: [SUM] }, told]);
  const client = gateway.anthropic();
  const question: Anthropic.MessageParam = { role: "user", content: "How many?" };
  const paused = await client.messages.create(asked([question], { tools: [PROGRAMS, DEPOT], system: "Be brief." }));
  const calls = paused.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
  const content = calls.map((id) => ({ type: "tool_result" as const, tool_use_id: id, content: '{"n":4}' }));
  const said = paused.content as Anthropic.ContentBlockParam[];
  const history: Anthropic.MessageParam[] = [question, { role: "assistant", content: said }, { role: "user", content }];
  const other = {
    tools: [PROGRAMS, DEPOT, { ...DEPOT, name: "store", allowed_callers: ["direct"] }],
    system: "Be long.",
  };
  const send = (more: object) => client.messages.create(asked(history, { ...more, container: paused.container?.id }));
  await expect(send({ tools: [PROGRAMS] })).rejects.toThrow("no such tool. Send the same tools again");
  expect((await send(other)).content.at(-1)).toMatchObject({ type: "text", text: "8 store Be long" });
});

test("no tool takes the place of another that a waiting program was told of", async () => {
  const program = "return [(await tools.user_get({ id: 1 })).n, (await tools.user_get({ id: 2 })).n];";
  await using gateway = await openGateway([
    { programs: [program] },
    ({ results }) => ({ text: `${results[0]?.text}` }),
  ]);
  const client = gateway.anthropic();
  const named = (...names: string[]) => ({ tools: [PROGRAMS, ...names.map((name) => ({ ...DEPOT, name }))] });
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: "How many?" }];
  let container: string | undefined;
  const send = async (more: object) => {
    const reply = await client.messages.create(asked(messages, { ...more, container }));
    container = reply.container?.id;
    const calls = reply.content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
    const results = calls.map(({ id }) => ({ type: "tool_result" as const, tool_use_id: id, content: '{"n":4}' }));
    messages.push({ role: "assistant", content: reply.content as Anthropic.ContentBlockParam[] });
    if (results.length > 0) messages.push({ role: "user", content: results });
    return { names: calls.map(({ name }) => name), text: reply.content.at(-1) };
  };
  expect((await send(named("user-get", "user_get"))).names).toEqual(["user-get"]);
  for (const others of [["user_get"], ["user_get", "user-get"]])
    await expect(send(named(...others))).rejects.toThrow("user_get is another tool than user_get");
  expect((await send(named("user-get", "user_get", "more"))).names).toEqual(["user-get"]);
  expect((await send(named("user-get"))).text).toMatchObject({ text: "[4,4]" });
});

test.each([true, false])("a program that a limit of time stopped has the vendor's error, stream %s", async (stream) => {
  const script = [{ programs: ["await new Promise((done) => setTimeout(done, 60_000));"] }, { text: "Late." }];
  await using gateway = await openGateway(script, { runtime: { limits: { wallMs: 10 } } });
  const request = asked([{ role: "user", content: "Wait." }], { tools: [PROGRAMS, DEPOT] });
  const { messages } = gateway.anthropic();
  const done = await (stream ? messages.stream(request).finalMessage() : messages.create(request));
  const error = { type: "code_execution_tool_result_error", error_code: "execution_time_exceeded" };
  expect(done.content).toMatchObject([
    { type: "server_tool_use" },
    { type: "code_execution_tool_result", content: error },
    { type: "text", text: "Late." },
  ]);
});

test("calls of the model itself are answered where they were made", async () => {
  await using gateway = await openGateway([
    {
      text: "Looking.",
      calls: [
        { tool: "stock", input: { id: 1 } },
        { tool: "stock", input: { id: 2 } },
      ],
    },
    ({ results }) => ({ text: results.map(({ text, isError }) => `${isError} ${text}`).join("; ") }),
  ]);
  const { messages } = gateway.anthropic();
  const tools = [direct("stock")];
  const history: Anthropic.MessageParam[] = [{ role: "user", content: "How many?" }];
  const called = await messages.create(asked(history, { tools }));
  expect([called.stop_reason, called.container]).toEqual(["tool_use", null]);
  const calls = called.content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
  expect(calls.map(({ caller, input }) => [caller, input])).toEqual([
    [{ type: "direct" }, { id: 1 }],
    [{ type: "direct" }, { id: 2 }],
  ]);
  history.push({ role: "assistant", content: called.content as Anthropic.ContentBlockParam[] });
  history.push({
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: calls[1]?.id ?? "", content: "no such id", is_error: true },
      { type: "tool_result", tool_use_id: calls[0]?.id ?? "", content: [{ type: "text", text: "four" }] },
    ],
  });
  const done = await messages.create(asked(history, { tools }));
  expect(done.content).toMatchObject([{ type: "text", text: 'false "four"; true   no such id' }]);
  // The same request again has the same answer.
  expect(await messages.create(asked(history, { tools }))).toMatchObject({ id: done.id, content: done.content });
  const listed = await Array.fromAsync(gateway.journal.list());
  expect(listed).toHaveLength(1);
});

/** A conversation of two calls, whose results the model repeats. */
async function twoCalls() {
  const repeat: ScriptedStep = ({ results }) => ({ text: results.map(({ text }) => text).join() });
  const steps = ["a", "b"].map((): ScriptedStep => ({ calls: [{ tool: "stock", input: { id: 1 } }] }));
  const model = scriptedModel([...steps, repeat, repeat], { name: "scripted:m" });
  const gateway = await openGateway(model);
  const history: Anthropic.MessageParam[] = [{ role: "user", content: "How many?" }];
  const send = (messages = history) =>
    gateway.anthropic().messages.create(asked(messages, { tools: [direct("stock")] }));
  const answered = ({ content }: Anthropic.Message, result: string): Anthropic.MessageParam[] => [
    { role: "assistant", content: content as Anthropic.ContentBlockParam[] },
    {
      role: "user",
      content: content.flatMap((block) =>
        block.type === "tool_use" ? [{ type: "tool_result" as const, tool_use_id: block.id, content: result }] : [],
      ),
    },
  ];
  const first = await send();
  const second = await send([...history, ...answered(first, "secret 1")]);
  const last = (one: string, two: string) => send([...history, ...answered(first, one), ...answered(second, two)]);
  const executions = async () => (await Array.fromAsync(gateway.journal.list())).length;
  return { gateway, model, last, executions };
}

test("other results of calls than before, the last or earlier ones, reach the model, and the same ones go on", async () => {
  const { gateway, model, last, executions } = await twoCalls();
  await using _ = gateway;
  const done = await last("secret 1", "100");
  expect(await last("secret 1", "100")).toEqual(done);
  expect(await executions()).toBe(1);
  expect((await last("secret 1", "5")).content).toMatchObject([{ text: "5" }]);
  expect((await last("removed", "100")).content).toMatchObject([{ text: "100" }]);
  expect(JSON.stringify(model.conversations.at(-1))).toContain("removed");
  expect(JSON.stringify(model.conversations.at(-1))).not.toContain("secret 1");
});

test("another picture in the history begins another conversation with it", async () => {
  await using gateway = await openGateway([
    { calls: [{ tool: "stock", input: { id: 1 } }] },
    ({ messages }) => ({ text: JSON.stringify(messages).includes("Tm8y") ? "new" : "old" }),
  ]);
  const send = (data: string, more: Anthropic.MessageParam[] = []) => {
    const source = { type: "base64" as const, media_type: "image/png" as const, data };
    const messages = [{ role: "user" as const, content: [{ type: "image" as const, source }] }, ...more];
    return gateway.anthropic().messages.create(asked(messages, { tools: [direct("stock")] }));
  };
  const { content } = await send("Tm8x");
  const id = content.find((block) => block.type === "tool_use")?.id ?? "";
  const done = await send("Tm8y", [
    { role: "assistant", content: content as Anthropic.ContentBlockParam[] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "4" }] },
  ]);
  expect(done.content).toMatchObject([{ text: "new" }]);
});

test("a history that the client has changed begins another conversation with it", async () => {
  await using gateway = await openGateway([
    { text: "Looking.", calls: [{ tool: "stock", input: { id: 1 } }] },
    ({ said, results }) => ({ text: `${said.join("|")}: ${results[0]?.text}` }),
  ]);
  const { messages } = gateway.anthropic();
  const tools = [direct("stock")];
  const called = await messages.create(asked([{ role: "user", content: "How many?" }], { tools }));
  const call = called.content.find((block) => block.type === "tool_use");
  const history: Anthropic.MessageParam[] = [
    { role: "user", content: "Say it briefly." },
    { role: "assistant", content: called.content as Anthropic.ContentBlockParam[] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: "four" }] },
  ];
  const done = await messages.create(asked(history, { tools }));
  expect(done.content).toMatchObject([{ type: "text", text: "Say it briefly.: four" }]);
  expect(await Array.fromAsync(gateway.journal.list())).toHaveLength(2);
});
