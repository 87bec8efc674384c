import type Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { scriptedModel, type ScriptedStep } from "portcullis/testing";
import { answered, callsIn, messageTool, openGateway, type OpenGateway, PROGRAMS, SUM } from "./gateways.ts";

const DEPOT = messageTool("depot");
const STOCK = messageTool("stock", ["direct"]);
const QUESTION: Anthropic.MessageParam = { role: "user", content: "How many?" };

const asked = (messages: Anthropic.MessageParam[], more: object = {}) => ({
  model: "m",
  max_tokens: 1000,
  messages,
  ...more,
});

const asking =
  ({ anthropic }: OpenGateway, tools: readonly object[]) =>
  (messages: Anthropic.MessageParam[], more: object = {}) =>
    anthropic().messages.create(asked(messages, { tools, ...more }));

const containerOf = ({ container }: Anthropic.Message) => ({ container: container?.id });

test("a program pauses at the client's tools, and goes on with its answers", async () => {
  await using gateway = await openGateway([
    { text: "I will add.", programs: [SUM] },
    ({ results }) => ({ text: `It is ${results[0]?.text}.` }),
  ]);
  const ask = asking(gateway, [PROGRAMS, DEPOT]);
  const paused = await ask([QUESTION]);
  expect(paused.content.map(({ type }) => type)).toEqual(["text", "server_tool_use", "tool_use", "tool_use"]);
  expect(paused.stop_reason).toBe("tool_use");
  // Calls that a program makes at once may reach the client in any order.
  const ids = callsIn(paused.content).map(({ input }) => (input as { readonly id: number }).id);
  expect(new Set(ids)).toEqual(new Set([1, 2]));
  const history = answered([QUESTION], paused, (place) => JSON.stringify({ n: place + 10 }));
  const done = await ask(history, containerOf(paused));
  expect(done.content).toMatchObject([
    { type: "code_execution_tool_result", content: { type: "code_execution_result", stdout: "21", return_code: 0 } },
    { type: "text", text: "It is 21." },
  ]);
  expect(done.stop_reason).toBe("end_turn");
  expect((await ask(history, containerOf(paused))).content).toEqual(done.content);
});

test("clients that ask at once are each answered right", async () => {
  const told: ScriptedStep = ({ results }) => ({ text: `It is ${results[0]?.text}.` });
  await using gateway = await openGateway([{ programs: [SUM] }, told]);
  const ask = asking(gateway, [PROGRAMS, DEPOT]);
  const answers = Array.from({ length: 8 }, async (_, n) => {
    const paused = await ask([QUESTION]);
    const done = await ask(answered([QUESTION], paused, `{"n":${n}}`), containerOf(paused));
    return (done.content.at(-1) as Anthropic.TextBlock).text;
  });
  expect(await Promise.all(answers)).toEqual(answers.map((_, n) => `It is ${2 * n}.`));
});

test("a hosted program after one that failed is answered as that one was, and the client is asked for nothing again", async () => {
  await using gateway = await openGateway([
    { programs: [SUM.replace("return a.n", "return c.n")] },
    { programs: [SUM] },
    ({ results }) => ({ text: `Then ${results[0]?.text}` }),
  ]);
  const ask = asking(gateway, [PROGRAMS, DEPOT]);
  const paused = await ask([QUESTION]);
  expect(callsIn(paused.content)).toHaveLength(2);
  const done = await ask(answered([QUESTION], paused), containerOf(paused));
  expect([done.stop_reason, callsIn(done.content)]).toEqual(["end_turn", []]);
  expect(done.content.at(-1)).toMatchObject({
    text: expect.stringMatching(/Then 8[^]*answered from before/) as string,
  });
});

test("other instructions and tools that come with the answers to a program hold from there on", async () => {
  const told: ScriptedStep = ({ opening: { instructions, tools }, results }) => ({
    text: `${results[0]?.text} ${tools[0]?.name} ${instructions?.match(/Be \w+/)?.[0]}`,
  });
  await using gateway = await openGateway([{ programs: [SUM] }, told]);
  const ask = asking(gateway, [PROGRAMS, DEPOT]);
  const paused = await ask([QUESTION], { system: "Be brief." });
  const send = (more: object) => ask(answered([QUESTION], paused), { ...more, ...containerOf(paused) });
  await expect(send({ tools: [PROGRAMS] })).rejects.toThrow("no such tool. Send the same tools again");
  const other = { tools: [PROGRAMS, DEPOT, messageTool("store", ["direct"])], system: "Be long." };
  expect((await send(other)).content.at(-1)).toMatchObject({ type: "text", text: "8 store Be long" });
});

test("no tool takes the place of another that a waiting program was told of", async () => {
  const program = "return [(await tools.user_get({ id: 1 })).n, (await tools.user_get({ id: 2 })).n];";
  await using gateway = await openGateway([
    { programs: [program] },
    ({ results }) => ({ text: `${results[0]?.text}` }),
  ]);
  let messages: Anthropic.MessageParam[] = [QUESTION];
  let container = {};
  const send = async (...names: readonly string[]) => {
    const reply = await asking(gateway, [PROGRAMS, ...names.map((name) => messageTool(name))])(messages, container);
    container = containerOf(reply);
    messages = answered(messages, reply);
    return { names: callsIn(reply.content).map(({ name }) => name), text: reply.content.at(-1) };
  };
  expect((await send("user-get", "user_get")).names).toEqual(["user-get"]);
  for (const others of [["user_get"], ["user_get", "user-get"]])
    await expect(send(...others)).rejects.toThrow("user_get is another tool than user_get");
  expect((await send("user-get", "user_get", "more")).names).toEqual(["user-get"]);
  expect((await send("user-get")).text).toMatchObject({ text: "[4,4]" });
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
    { text: "Looking.", calls: [1, 2].map((id) => ({ tool: "stock", input: { id } })) },
    ({ results }) => ({ text: results.map(({ text, isError }) => `${isError} ${text}`).join("; ") }),
  ]);
  const ask = asking(gateway, [STOCK]);
  const called = await ask([QUESTION]);
  expect([called.stop_reason, called.container]).toEqual(["tool_use", null]);
  const calls = callsIn(called.content);
  const direct = { type: "direct" };
  expect(calls.map(({ caller, input }) => [caller, input])).toEqual([1, 2].map((id) => [direct, { id }]));
  const said: Anthropic.ToolResultBlockParam[] = [
    { type: "tool_result", tool_use_id: calls[1]?.id ?? "", content: "no such id", is_error: true },
    { type: "tool_result", tool_use_id: calls[0]?.id ?? "", content: [{ type: "text", text: "four" }] },
  ];
  const history = [...answered([QUESTION], called).slice(0, 2), { role: "user" as const, content: said }];
  const done = await ask(history);
  expect(done.content).toMatchObject([{ type: "text", text: 'false "four"; true   no such id' }]);
  // The same request again has the same answer.
  expect(await ask(history)).toMatchObject({ id: done.id, content: done.content });
  expect(await Array.fromAsync(gateway.journal.list())).toHaveLength(1);
});

test("a failed result is an error in the program, and calls of no tool or with a wrong input never reach the client", async () => {
  const wrong = [{ tool: "nothing" }, { tool: "stock", input: { id: "x" } }];
  await using gateway = await openGateway([
    { programs: ["try { await tools.depot({ id: 1 }); } catch ({ message }) { return message; }"], calls: wrong },
    ({ results }) => ({ text: results.map(({ text, isError }) => `${isError} ${text}`).join("; ") }),
  ]);
  const ask = asking(gateway, [PROGRAMS, DEPOT, STOCK]);
  const paused = await ask([QUESTION]);
  const calls = callsIn(paused.content);
  expect(calls.map(({ name }) => name)).toEqual(["depot"]);
  const failed = { type: "tool_result" as const, tool_use_id: calls[0]?.id ?? "", content: "no such", is_error: true };
  const history = [...answered([QUESTION], paused).slice(0, 2), { role: "user" as const, content: [failed] }];
  const { text } = (await ask(history, containerOf(paused))).content.at(-1) as Anthropic.TextBlock;
  expect(text).toMatch(/false "no such/);
  expect(text).toContain('There is no tool "nothing"');
  expect(text).toContain("The input of stock does not fit");
});

test("other results of calls than before, the last or earlier ones, reach the model, and the same ones go on", async () => {
  const repeat: ScriptedStep = ({ results }) => ({ text: results.map(({ text }) => text).join() });
  const steps = ["a", "b"].map((): ScriptedStep => ({ calls: [{ tool: "stock", input: { id: 1 } }] }));
  const model = scriptedModel([...steps, repeat, repeat], { name: "scripted:m" });
  await using gateway = await openGateway(model);
  const ask = asking(gateway, [STOCK]);
  const first = await ask([QUESTION]);
  const second = await ask(answered([QUESTION], first, "secret 1"));
  const last = (one: string, two: string) => ask(answered(answered([QUESTION], first, one), second, two));
  const done = await last("secret 1", "100");
  expect(await last("secret 1", "100")).toEqual(done);
  expect(await Array.fromAsync(gateway.journal.list())).toHaveLength(1);
  expect((await last("secret 1", "5")).content).toMatchObject([{ text: "5" }]);
  expect((await last("removed", "100")).content).toMatchObject([{ text: "100" }]);
  expect(JSON.stringify(model.conversations.at(-1))).toContain("removed");
  expect(JSON.stringify(model.conversations.at(-1))).not.toContain("secret 1");
});

test("a history that the client has changed, a picture too, begins another conversation with it", async () => {
  const picture = (data: string): Anthropic.MessageParam => {
    const source = { type: "base64" as const, media_type: "image/png" as const, data };
    return { role: "user", content: [{ type: "image", source }] };
  };
  const heard: string[] = [];
  const call: ScriptedStep = { text: "Looking.", calls: [{ tool: "stock", input: { id: 1 } }] };
  const hear: ScriptedStep = ({ messages, results }) => {
    heard.push(JSON.stringify(messages));
    return { text: `new: ${results[0]?.text}` };
  };
  for (const [before, after, words] of [
    [picture("Tm8x"), picture("Tm8y"), "Tm8y"],
    [QUESTION, { role: "user", content: "Say it briefly." }, "Say it briefly."],
  ] as const) {
    await using gateway = await openGateway([call, hear]);
    const ask = asking(gateway, [STOCK]);
    const done = await ask(answered([after], await ask([before]), "four"));
    expect(done.content).toMatchObject([{ type: "text", text: "new: four" }]);
    expect(heard.at(-1)).toContain(words);
    expect(await Array.fromAsync(gateway.journal.list())).toHaveLength(2);
  }
});
