import type { RuntimeOptions } from "portcullis";
import type { ServerOptions } from "portcullis/serve";
import { scriptedModel, type ScriptedStep } from "portcullis/testing";
import { expect, test } from "vitest";
import { testOfAll } from "../../../support/all-tests.ts";
import { makeTool, payTool, tool } from "../../../support/tools.ts";
import { type Answer, type AskOptions, KEYS as ALL, keyOf, openServer } from "../../servers.ts";

/** Those that need no tool. */
const KEYS = { keys: ALL.keys.filter(({ id }) => id !== "low") };

const heard: ScriptedStep = ({ said }) => ({ text: `heard ${said.at(-1)}` });
const echo = scriptedModel(Array.from({ length: 20 }, () => heard));

interface Of {
  readonly server?: ServerOptions;
  readonly runtime?: Partial<RuntimeOptions>;
}

/** A server of a model, asked by a key that may converse. */
async function open({ server = { model: echo }, runtime = {} }: Of = {}) {
  const door = await openServer({ keys: KEYS, ...server }, { tools: [], ...runtime });
  const asked = (method: string, path: string, { key = keyOf("con"), ...more }: AskOptions = {}) =>
    door.ask(method, path, { key, ...more });
  return {
    ...door,
    asked,
    begin: (body: object, key?: string) => asked("POST", "/v1/conversations", { body, key }),
    say: (id: string, body: object = {}, key?: string) => asked("POST", `/v1/conversations/${id}`, { body, key }),
    status: async (id: string) => (await asked("GET", `/v1/executions/${id}`)).json,
  };
}

const codeOf = ({ status, json }: Pick<Answer, "status" | "json">) => [status, json.error?.code];

/** A model whose first answer waits until it is released, or until it is interrupted. */
function slowModel(rest: readonly ScriptedStep[] = [heard]) {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const slow: ScriptedStep = async () => {
    asked.resolve();
    await released.promise;
    return { text: "slow" };
  };
  return { model: scriptedModel([slow, ...rest]), asked: asked.promise, release: released.resolve };
}

test("a conversation is begun, continued and shown, and rests between its messages", async () => {
  await using door = await open();
  const begun = await door.begin({ message: "one", id: "chat" });
  const conversation = { model: echo.name, said: 1, turns: 1, ending: { type: "answered", answer: "heard one" } };
  const rests = { execution: "chat", kind: "conversation", state: "waiting" };
  expect([begun.status, begun.json]).toMatchObject([200, { ...rests, driven: false, conversation }]);
  const more = await door.say("chat", { message: ["two", "three"], expect: 1 });
  expect(more.json.conversation).toMatchObject({ said: 3, turns: 2, ending: { answer: "heard three" } });
  expect(await door.status("chat")).toEqual(more.json);
  const listed = await door.asked("GET", "/v1/executions");
  expect(listed.json.executions).toMatchObject([{ ...rests, title: "one" }]);
  const { text } = await door
    .asked("POST", "/v1/conversations/chat/end", { body: {} })
    .then(() => door.asked("GET", "/v1/executions/chat/events"));
  for (const type of ["conversation_started", "user_said", "turn_ended", "conversation_resting", "conversation_ended"])
    expect(text).toContain(`event: ${type}`);
});

test("a conversation that is begun again by its id is the same, and another message or model under the id is refused", async () => {
  const other = scriptedModel([heard], { name: "scripted:other" });
  await using door = await open({ server: { model: [echo, other] } });
  const body = { message: [{ type: "text", text: "one" }], id: "chat" };
  const [first, second] = [await door.begin(body), await door.begin(body)];
  expect(second.json).toEqual(first.json);
  expect(codeOf(await door.begin({ ...body, message: "two" }))).toEqual([409, "execution_exists"]);
  expect((await door.begin({ ...body, wait: false })).status).toBe(202);
  expect((await door.begin({ message: "x", model: other.name })).json.conversation.model).toBe(other.name);
  const unlisted = await door.begin({ message: "x", model: "scripted:none" });
  expect([codeOf(unlisted), unlisted.text]).toMatchObject([
    [400, "request_invalid"],
    expect.stringContaining(other.name),
  ]);
});

test("a conversation or a program that is begun again by its id with other settings is refused", async () => {
  await using door = await open({ runtime: { tools: [tool("a", () => 1), tool("b", () => 2)] } });
  const body = { message: "one", id: "chat", tools: ["a", "b"], instructions: "Be brief." };
  const begun = await door.begin(body);
  expect(begun.status).toBe(200);
  const answer = { type: "object", properties: {} };
  const changes = [
    { tools: ["a"] },
    { instructions: "Be long." },
    { answer },
    { limits: { calls: 1 } },
    { maxTurns: 1 },
  ];
  for (const change of changes)
    for (const wait of [true, false])
      expect(codeOf(await door.begin({ ...body, ...change, wait })), JSON.stringify(change)).toEqual([
        409,
        "execution_exists",
      ]);
  expect((await door.begin(body)).json).toEqual(begun.json);
  expect((await door.say("chat", { message: "one", expect: 0 })).json).toEqual(begun.json);
  const run = (more: object) =>
    door.asked("POST", "/v1/executions", { body: { program: "return 1", id: "p", ...more } });
  await run({});
  expect((await run({ language: "javascript" })).json.outcome.value).toBe(1);
  for (const wait of [true, false])
    expect(codeOf(await run({ limits: { calls: 1 }, wait }))).toEqual([409, "execution_exists"]);
});

test("while a message is answered another one is refused, and one with another number afterwards", async () => {
  const { model, asked, release } = slowModel();
  await using door = await open({ server: { model } });
  const first = door.begin({ message: "one", id: "chat" });
  await asked;
  expect(codeOf(await door.say("chat", { message: "two" }))).toEqual([409, "conversation_busy"]);
  expect(codeOf(await door.say("chat", { message: "two", expect: 1 }))).toEqual([409, "conversation_busy"]);
  release();
  expect((await first).json.conversation.ending.answer).toBe("slow");
  await door.say("chat", { message: "two", expect: 1 });
  expect(codeOf(await door.say("chat", { message: "other", expect: 1 }))).toEqual([409, "conversation_moved"]);
});

test("a program is no conversation, and an id is free for another tenant", async () => {
  await using door = await open();
  await door.begin({ message: "one", id: "chat" });
  await door.asked("POST", "/v1/executions", { body: { program: "return 1", id: "program" } });
  for (const path of ["", "/interrupt", "/end"]) {
    const refused = await door.asked("POST", `/v1/conversations/program${path}`, { body: {} });
    expect(codeOf(refused), path).toEqual([404, "execution_unknown"]);
    expect(refused.json.error.message).toContain("program");
  }
  const mine = await door.begin({ message: "mine", id: "chat" }, keyOf("bea"));
  expect(mine.json.conversation).toMatchObject({ said: 1, ending: { answer: "heard mine" } });
});

test("a client asks for no more turns, tokens and limits than the operator and its key allow", async () => {
  const call = { calls: [{ tool: "none", input: {} }] };
  const keys = [
    ...KEYS.keys,
    { id: "lim", key: keyOf("lim"), tenant: "acme", scopes: ["converse"], limits: { calls: 3 } },
  ];
  const model = scriptedModel([call, call, call, { text: "done" }]);
  await using door = await open({
    server: { model, maxTurns: 2, maxTokens: 500, keys: { keys } },
  });
  expect((await door.asked("GET", "/v1/models")).json).toMatchObject({
    models: [model.name],
    maxTurns: 2,
    maxTokens: 500,
  });
  const { json } = await door.begin({ message: "x", id: "chat" });
  expect(json.conversation).toMatchObject({ turns: 2 });
  const [header] = await Array.fromAsync(door.runtime.journal.read(await idOf(door, "chat")));
  expect(header).toMatchObject({ maxTurns: 2, maxTokens: 500 });
  const refused = await door.say("chat", { message: "more" }, keyOf("lim"));
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("above this key's 3")]);
});

async function idOf({ runtime }: Awaited<ReturnType<typeof open>>, id: string): Promise<string> {
  for await (const { execution } of runtime.executions.list()) if (execution.endsWith(`:${id}`)) return execution;
  return id;
}

test("an interrupted message is given up, in the journal too before the answer, and the conversation goes on", async () => {
  const { model, asked } = slowModel();
  await using door = await open({ server: { model } });
  const first = door.begin({ message: "one", id: "chat" });
  await asked;
  const interrupted = await door.asked("POST", "/v1/conversations/chat/interrupt", { body: {} });
  expect(interrupted.json).toMatchObject({ state: "waiting", conversation: { ending: { type: "cancelled" } } });
  expect((await first).json.conversation.ending).toEqual({ type: "cancelled" });
  // One that rests has nothing to be interrupted.
  expect((await door.asked("POST", "/v1/conversations/chat/interrupt", { body: {} })).json).toEqual(interrupted.json);
});

test("a conversation is ended while it is at work, while a call waits and while it rests, and takes nothing more", async () => {
  const { tool: pay } = payTool();
  const { model: slow, asked } = slowModel();
  const waits = scriptedModel([{ calls: [{ tool: "pay", input: { euros: 1 } }] }], { name: "scripted:waits" });
  const rests = scriptedModel([heard], { name: "scripted:rests" });
  await using door = await open({ server: { model: [slow, waits, rests] }, runtime: { tools: [pay] } });
  const first = door.begin({ message: "x", id: "works" });
  await asked;
  for (const name of ["waits", "rests"]) await door.begin({ message: "x", id: name, model: `scripted:${name}` });
  for (const [id, type] of [
    ["works", "cancelled"],
    ["waits", "cancelled"],
    ["rests", "answered"],
  ] as const) {
    const { json } = await door.asked("POST", `/v1/conversations/${id}/end`, { body: {} });
    expect(json, id).toMatchObject({ state: "ended", conversation: { ending: { type } } });
    expect(codeOf(await door.say(id, { message: "more" })), id).toEqual([409, "conversation_ended"]);
    for (const again of ["interrupt", "end"])
      expect((await door.asked("POST", `/v1/conversations/${id}/${again}`, { body: {} })).json).toEqual(json);
  }
  await first;
});

test("a client that leaves changes nothing: the message is answered, and its events are read afterwards", async () => {
  const { model, asked, release } = slowModel();
  await using door = await open({ server: { model } });
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${keyOf("con")}`, "content-type": "application/json" };
  const request = (path: string, more: RequestInit) =>
    door.server.fetch(new Request(`http://localhost/v1/${path}`, { headers, signal: leaving.signal, ...more }));
  const first = request("conversations", {
    method: "POST",
    body: JSON.stringify({ message: "one", id: "chat" }),
  });
  await asked;
  const events = await request("executions/chat/events", {});
  const reader = events.body?.getReader();
  await reader?.read();
  leaving.abort();
  await reader?.cancel();
  release();
  await first.catch(() => {});
  await expect.poll(async () => (await door.status("chat")).conversation.ending?.answer).toBe("slow");
});

test("a conversation counts among what a key runs at once", async () => {
  const { model, asked, release } = slowModel();
  const keys = {
    keys: [{ id: "one", key: keyOf("one"), tenant: "acme", concurrency: 1, scopes: ["converse", "run", "read"] }],
  };
  await using door = await open({ server: { model, keys } });
  const first = door.begin({ message: "one" }, keyOf("one"));
  await asked;
  expect(codeOf(await door.begin({ message: "two" }, keyOf("one")))).toEqual([429, "too_many_at_once"]);
  const program = await door.asked("POST", "/v1/executions", { key: keyOf("one"), body: { program: "return 1" } });
  expect(codeOf(program)).toEqual([429, "too_many_at_once"]);
  release();
  await first;
  expect((await door.begin({ message: "two" }, keyOf("one"))).status).toBe(200);
});

test("a conversation has the tools of its key alone, of which the client may choose fewer", async () => {
  const look = (name: string) => makeTool({ name, allowedCallers: ["direct", "programmatic"] });
  const seen: (readonly string[])[] = [];
  const model = scriptedModel([
    ({ opening }) => {
      seen.push(opening.tools.map(({ name }) => name));
      return { text: "so" };
    },
  ]);
  const keys = { keys: [{ id: "crm", key: keyOf("crm"), tenant: "acme", tools: ["crm.*"], scopes: ["converse"] }] };
  await using door = await open({
    server: { model, keys },
    runtime: { tools: ["crm.find", "crm.list", "bank.pay"].map(look) },
  });
  for (const more of [{}, { tools: ["crm.list"] }])
    expect((await door.begin({ message: "x", ...more }, keyOf("crm"))).status).toBe(200);
  expect(codeOf(await door.begin({ message: "x", tools: ["bank.pay"] }, keyOf("crm")))).toEqual([
    400,
    "option_invalid",
  ]);
  expect(seen).toEqual([["crm.find", "crm.list"], ["crm.list"]]);
});

test("a key that lacks tools of a conversation cannot continue it, and is not told which they are", async () => {
  const keys = {
    keys: [
      { id: "con", key: keyOf("con"), tenant: "acme", scopes: ["converse"] },
      { id: "crm", key: keyOf("crm"), tenant: "acme", scopes: ["converse", "read"], tools: ["crm.*"] },
    ],
  };
  const tools = ["crm.find", "bank.pay"].map((name) => tool(name, () => 1));
  await using door = await open({ server: { keys, model: echo }, runtime: { tools } });
  await door.begin({ message: "one", id: "wide" });
  const refused = await door.say("wide", { message: "two" }, keyOf("crm"));
  expect(codeOf(refused)).toEqual([403, "scope_missing"]);
  expect(refused.text).not.toContain("bank");
  expect((await door.say("wide", { message: "two" })).json.conversation).toMatchObject({ said: 2 });
});

testOfAll("what a conversation was told counts for its key until it rests, also after the answer", async () => {
  const { model, release } = slowModel();
  await using door = await open({ server: { model } });
  const message = "x".repeat(3_500_000);
  const states: number[] = [];
  for (let n = 0; n < 40 && states.at(-1) !== 429; n += 1)
    states.push((await door.begin({ message, id: `chat-${n}`, wait: false })).status);
  expect(states.at(-1)).toBe(429);
  expect(states.length).toBeGreaterThan(20);
  expect(states.length).toBeLessThan(26);
  release();
  await expect.poll(async () => (await door.begin({ message, wait: false })).status).toBe(202);
});
