import { agentAsTool } from "portcullis";
import { createMemoryJournal } from "portcullis/journal";
import { scriptedModel } from "portcullis/testing";
import { describe, expect, test } from "vitest";
import { makeTool } from "../../support/tools.ts";
import { keyOf, openServer } from "../servers.ts";
import { openGateway } from "../gateway/gateways.ts";
import { BOSS, keys, SMALL, world } from "./world.ts";

const KEEPS = `const s = await tools.other({}); await save("s", s); return s`;
const LOADS = `return await load("s")`;

/** An execution of `boss` with a value of the tool `other`, and a server on its journal with this key too. */
async function opened(key: object) {
  const here = world();
  const host = await here.serve({ keys: keys(BOSS, { ...SMALL, ...key }) });
  const kept = await host.as("boss")("POST", "/v1/executions", { id: "payroll", program: KEEPS });
  expect(kept.json.outcome.value).toBe("other");
  return { small: host.as("small"), [Symbol.asyncDispose]: () => here[Symbol.asyncDispose]() };
}

const ASKS = [
  ["corrects it", "POST", "/v1/executions", { program: LOADS, corrects: "payroll" }],
  ["asks for it again under its id", "POST", "/v1/executions", { program: KEEPS, id: "payroll" }],
  ["cancels it", "POST", "/v1/executions/payroll/cancel", {}],
  ["asks for its value", "GET", "/v1/executions/payroll/artifacts/s", undefined],
  ["asks for a call's", "GET", "/v1/executions/payroll/calls/1", undefined],
  ["asks for its report", "GET", "/v1/executions/payroll", undefined],
  ["asks for its view", "GET", "/v1/executions/payroll/view", undefined],
  ["follows its events", "GET", "/v1/executions/payroll/events", undefined],
] as const;

describe.each([
  ["a key without the scope read", { scopes: ["run"], tools: ["*"], allowedCallers: undefined }, 403, "scope_missing"],
  ["a key without the tools of another key's program", {}, 403, "scope_missing"],
  ["a key that may read and has its tools", { tools: ["*"], allowedCallers: undefined }, 200, "other"],
])("%s", (_, key, expected, part) => {
  test.each(ASKS)(`that %s is answered with ${expected}`, async (_asks, method, path, body) => {
    await using door = await opened(key);
    const { status, text } = await door.small(method, path, body);
    expect([status, text]).toEqual([expected, expect.stringContaining(part)]);
  });
});

test("a key that may ask an agent is told nothing of the agent's calls, whose tools it does not have", async () => {
  const pay = makeTool({ name: "shop.pay", allowedCallers: ["direct"], effect: () => "write" });
  const steps = [{ calls: [{ tool: "shop.pay", input: {} }] }, { text: "The average is 5." }];
  const agent = agentAsTool({
    name: "ask",
    description: "d",
    model: scriptedModel(steps, { hostsPrograms: false }),
    tools: [pay],
    allowedCallers: ["programmatic"],
  });
  const ASKS_AGENT = `throw new Error(await tools.ask({ task: "The average?" }))`;
  const talks = scriptedModel([{ programs: [ASKS_AGENT] }, { text: "end" }], { hostsPrograms: false, name: "m:m" });
  await using here = world();
  const options = { keys: keys({ ...SMALL, tools: ["ask"] }, BOSS), model: talks };
  const { as } = await here.serve(options, { tools: [agent] });
  const small = as("small");
  const told = await small("POST", "/v1/executions", { program: ASKS_AGENT, id: "e" });
  expect(told.json.outcome.fault.message).toBe("The average is 5.");
  const talked = await small("POST", "/v1/conversations", { message: "go", id: "c" });
  const whole = await as("boss")("GET", "/v1/executions/c");
  const ids = ({ json }: typeof whole) =>
    json.conversation.calls.map(({ callId }: { readonly callId: string }) => callId);
  expect([ids(talked), ids(whole)]).toEqual([["call-1/1"], ["call-1/1", "call-1/1/call-1"]]);
  const list = await small("GET", "/v1/executions");
  for (const { text } of [told, talked, list]) expect(text).not.toContain("shop.pay");
  const { execution } = list.json.executions.findLast(({ kind }: { readonly kind: string }) => kind === "conversation");
  for (const path of ["", "/view", "/calls/call-1", "/events"])
    expect((await small("GET", `/v1/executions/${execution}${path}`)).status, path).toBe(403);
  expect((await small("GET", "/v1/executions/e/calls/1")).status).toBe(200);
  expect((await small("GET", "/v1/executions/e/calls/1%2Fcall-1")).status).toBe(403);
  expect((await small("GET", "/v1/executions/e/calls/2%2Fcall-1")).status).toBe(404);
  const loads = { program: LOADS, corrects: execution };
  expect((await small("POST", "/v1/executions", loads)).status).toBe(403);
  expect((await small("GET", "/v1/executions/e/view")).status).toBe(200);
});

test("a key reads no conversation that got a tool later, or copied turns, of tools that it does not have", async () => {
  await using here = world();
  const restricted = { ...SMALL, allowedCallers: undefined, tools: ["free"] };
  const { runtime, as } = await here.serve({ keys: keys(restricted, BOSS) });
  const steps = [{ text: "hello" }, { calls: [{ tool: "other", input: {} }] }, { text: "end" }];
  const begin = (execution: string, more: object) => {
    const model = scriptedModel(steps, { hostsPrograms: false, name: "m:m" });
    return runtime.conversation({ model, tools: ["free"], programs: "none", tenant: "acme", id: execution, ...more });
  };
  const read = (key: string, path: string) => as(key)("GET", `/v1/executions/${path}`);
  const first = await begin("first", {});
  await first.send("hi");
  const followed = read("small", "first/events");
  expect((await read("small", "first")).status).toBe(200);
  await first.setTools(["free", "other"]);
  const { transcript } = await first.send("go");
  await first[Symbol.asyncDispose]();
  await (await begin("copied", { from: "first" })).leave();
  await (await begin("told", { from: transcript })).leave();
  for (const path of ["first", "first/view", "first/calls/call-1", "copied", "told/view"])
    expect([(await read("small", path)).status, (await read("boss", path)).status], path).toEqual([403, 200]);
  const { text } = await followed;
  expect(text).toContain("scope_missing");
  expect(text).not.toContain('"other"');
});

test("a key that may decide, and not read, is not told of whose call a decision was refused, and why", async () => {
  await using here = world();
  const { as } = await here.serve({ keys: keys(BOSS, { ...SMALL, tools: ["free"] }) });
  await as("boss")("POST", "/v1/executions", { id: "e", program: "await tools.ask({})" });
  const body = { decisions: { 1: { allow: true, hold: 7 } } };
  const told = async (key: string) => (await as(key)("POST", "/v1/executions/e/decisions", body)).json.error;
  expect((await told("boss")).message).toContain("of ask");
  const { code, message } = await told("small");
  expect([code, message]).toEqual(["decision_exists", expect.stringMatching(/^Nothing was noted/)]);
});

test("a key that asks for an id while another key begins it is given nothing of it", async () => {
  await using here = world();
  const host = await here.serve({ keys: keys(BOSS, { ...SMALL, scopes: ["run"], tools: ["*"] }) });
  const body = { id: "payroll", program: KEEPS };
  const answers = await Promise.all(["boss", "small"].map((name) => host.as(name)("POST", "/v1/executions", body)));
  expect(answers.map(({ status }) => status)).toEqual([200, 403]);
  expect(answers[1]?.text).toContain("scope_missing");
});

test("a program that corrects what another key has only asked for, and waits with it, is not begun", async () => {
  await using here = world();
  const host = await here.serve({ keys: keys(BOSS, SMALL) }, { executions: { concurrency: 1 } });
  const post = (name: string, body: object, path = "") => host.as(name)("POST", `/v1/executions${path}`, body);
  const busy = post("boss", { id: "busy", program: "return tools.slow({})" });
  await here.slow.begun.promise;
  const payroll = post("boss", { id: "payroll", program: KEEPS });
  const small = post("small", { program: LOADS, corrects: "payroll" });
  await post("boss", {}, "/busy/cancel");
  expect([(await busy).status, (await payroll).json.outcome.value]).toEqual([200, "other"]);
  const { status, text } = await small;
  expect([status, text]).toEqual([404, expect.stringContaining("execution_unknown")]);
});

const CLIENT_TOOL = { name: "other", description: "o", input_schema: { type: "object", properties: {} } } as const;
const RUN = { id: "run", key: keyOf("run"), tenant: "acme", scopes: ["run", "read", "decide", "converse"] };
const CON = { id: "con", key: keyOf("con"), tenant: "acme", scopes: ["converse", "read", "decide", "run"] };

const otherTool = (ran: string[]) =>
  makeTool({
    name: "other",
    description: "o",
    allowedCallers: ["direct", "programmatic"],
    execute: () => void ran.push("other"),
  });

/** A conversation of the gateway whose program waits for its client, with a tool that the server has under this name too. */
async function waitingAtGateway() {
  const ran: string[] = [];
  const tool = otherTool(ran);
  const journal = createMemoryJournal();
  const gateway = await openGateway(
    [{ programs: ["return [await tools.other({}), await tools.other({})]"] }, { text: "end" }],
    { journal, keys: keys(CON, RUN), runtime: { tools: [tool], approve: () => "later" } },
  );
  const message = await gateway.anthropic().messages.create({
    model: "m",
    max_tokens: 100,
    messages: [{ role: "user", content: "go" }],
    tools: [
      { type: "code_execution_20260120", name: "code_execution" },
      { ...CLIENT_TOOL, allowed_callers: ["code_execution_20260120"] },
    ] as never,
  });
  expect(message.stop_reason).toBe("tool_use");
  const ids = await Array.fromAsync(journal.list({}), ({ execution }) => execution);
  const conversation = ids.find((id) => id.startsWith("gateway-")) ?? "";
  const child = ids.find((id) => !id.startsWith("gateway-")) ?? "";
  const ask = (id: string, path: string, body: object, key: string) =>
    gateway.fetch(`http://localhost${path.replace(":id", id)}`, {
      method: "POST",
      headers: { authorization: `Bearer ${keyOf(key)}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return { gateway, ran, journal, conversation, child, ask };
}

test("what waits for a client of the gateway takes nothing on another path, of no key, nor does the program in it", async () => {
  const { gateway, ran, journal, conversation, child, ask } = await waitingAtGateway();
  await using _ = gateway;
  const before = await Array.fromAsync(journal.read(child));
  const result = { value: "forged" };
  for (const key of ["con", "run"])
    for (const [id, path, body] of [
      [conversation, "/v1/executions/:id/results", { results: { "call-1/1": result } }],
      [child, "/v1/executions/:id/results", { results: { 1: result } }],
      [conversation, "/v1/executions/:id/decisions", { decisions: { "call-1/1": { allow: true } } }],
      [child, "/v1/executions/:id/decisions", { decisions: { 1: { allow: true } } }],
      [conversation, "/v1/conversations/:id", { message: "and now?" }],
      [conversation, "/v1/conversations", { message: "go", id: conversation }],
    ] as const) {
      const answer = await ask(id, path, body, key);
      expect([answer.status, await answer.text()], path).toEqual([409, expect.stringContaining("execution_driven")]);
    }
  expect(await Array.fromAsync(journal.read(child))).toEqual(before);
  const ended = await ask(conversation, "/v1/executions/:id/cancel", {}, "con");
  expect(await ended.json(), "though the client's tools are gone").toMatchObject({ state: "ended" });
  expect(ran).toEqual([]);
});

test.each(["program", "conversation"] as const)(
  "a client's tool does not become the host's of the same name and schemas, when a host takes the %s up",
  async (kind) => {
    const { gateway, ran, journal, conversation } = await waitingAtGateway();
    await using _ = gateway;
    await gateway.server.close({ drainMs: 0 });
    await using host = await openServer({ keys: keys(RUN) }, { journal, tools: [otherTool(ran)] });
    await host.runtime.execution(conversation, { tenant: "acme" }).answer({ "call-1/1": { value: 1 } });
    if (kind === "program") await host.server.recover();
    else await Array.fromAsync(host.runtime.recover({ model: () => undefined }));
    expect(ran).toEqual([]);
  },
);
