import type Anthropic from "@anthropic-ai/sdk";
import { beforeEach, expect, test } from "vitest";
import { createMemoryJournal, type Journal } from "portcullis/journal";
import type { ScriptedStep } from "portcullis/testing";
import { testOfAll } from "../../support/all-tests.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import {
  answered,
  functionTool,
  openGateway,
  type OpenGateway,
  post,
  RESPONSES_PROGRAMS,
  MESSAGES_TOOLS,
  RESPONSES_TOOLS,
} from "./gateways.ts";

const PAUSE_MS = 5000;
const DAY_MS = 86_400_000;

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});

/** What waits for a client is told by the times of records alone. No timer runs: an interval has millions of turns in 30 days. */
function pass(ms: number): void {
  clock.jump(ms);
}

const PROGRAM = {
  programs: ["const one = await tools.depot({ id: 1 }); return one.n + (await tools.depot({ id: 2 })).n;"],
};
const USER = { role: "user" as const, content: "How many?" };

const ask = (gateway: OpenGateway, body: object) =>
  post(gateway, { model: "m", max_tokens: 100, tools: MESSAGES_TOOLS, ...body });

/** What the client sends after a message that waits. */
function answers(message: Anthropic.Message, before: readonly Anthropic.MessageParam[] = [USER]) {
  return { messages: answered(before, message, '{"n":1}'), container: message.container?.id };
}

/** The outcomes of all executions, or that they are open. */
async function outcomesIn(journal: Journal): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const { execution } of journal.list()) {
    const records = await Array.fromAsync(journal.read(execution));
    const outcome = records.find(({ type }) => type === "outcome");
    all.push(outcome?.type === "outcome" ? String(JSON.parse(outcome.outcome).type) : "open");
  }
  return all.toSorted((one, other) => one.localeCompare(other));
}

test("a pause that its client leaves ends the program and the conversation, also after a restart with another model", async () => {
  const journal = createMemoryJournal();
  const first = await openGateway([PROGRAM], { journal, pauseMs: PAUSE_MS });
  const { json: message } = await ask(first, { messages: [USER] });
  expect(message.stop_reason).toBe("tool_use");
  await first[Symbol.asyncDispose]();
  await using gateway = await openGateway([], { journal, pauseMs: PAUSE_MS });
  expect(await gateway.server.recover()).toBe(0);
  expect(await outcomesIn(journal)).toEqual(["open", "open"]);
  pass(PAUSE_MS);
  expect(await gateway.server.recover()).toBe(1);
  expect(await outcomesIn(journal)).toEqual(["cancelled", "cancelled"]);
  expect(await gateway.server.recover()).toBe(0);
  const late = await ask(gateway, answers(message));
  expect([late.status, late.json.error.message]).toEqual([400, expect.stringContaining("expired")]);
});

test("answers after the expiry are refused, also of a pause that the server has not looked for", async () => {
  await using gateway = await openGateway([PROGRAM], { pauseMs: PAUSE_MS });
  const { json: message } = await ask(gateway, { messages: [USER] });
  expect(Date.parse(message.container.expires_at) - Date.now()).toBeLessThanOrEqual(PAUSE_MS);
  pass(PAUSE_MS);
  const late = await ask(gateway, answers(message));
  expect([late.status, late.json.error.message]).toEqual([400, expect.stringContaining("expired")]);
});

test("the time counts from the last answer of the client, and an answer that was given ends too", async () => {
  await using gateway = await openGateway([PROGRAM, { text: "Two." }], { pauseMs: PAUSE_MS });
  const { journal, server } = gateway;
  const { json: first } = await ask(gateway, { messages: [USER] });
  expect(await server.recover()).toBe(0);
  pass(PAUSE_MS - 1000);
  const { json: second } = await ask(gateway, answers(first));
  expect(second.stop_reason).toBe("tool_use");
  pass(PAUSE_MS - 1000);
  expect(await server.recover()).toBe(0);
  expect(await outcomesIn(journal)).toEqual(["open", "open"]);
  const { messages } = answers(first);
  const { json: last } = await ask(gateway, answers(second, messages));
  expect(last.content.at(-1)).toMatchObject({ text: "Two." });
  expect(await server.recover()).toBe(0);
  pass(PAUSE_MS);
  expect(await server.recover()).toBe(1);
  expect(await outcomesIn(journal)).toEqual(["answered", "completed"]);
});

test.each([
  [30, {}],
  [2, { storedMs: 2 * DAY_MS }],
])("of stored answers the program that waits ends, and they are kept for %i days", async (days, options) => {
  const gone = { status: 400, code: "previous_response_not_found" };
  await using gateway = await openGateway([PROGRAM], { pauseMs: PAUSE_MS, ...options });
  const { journal, server } = gateway;
  const { responses } = gateway.openai();
  const paused = await responses.create({ model: "m", tools: RESPONSES_TOOLS, input: "How many?" });
  pass(PAUSE_MS);
  expect(await server.recover()).toBe(1);
  expect(await outcomesIn(journal)).toEqual(["cancelled", "open"]);
  const call = paused.output.find(({ type }) => type === "function_call") as { call_id: string };
  const input = [{ type: "function_call_output", call_id: call.call_id, output: "{}" }] as const;
  const late = () =>
    responses.create({ model: "m", tools: RESPONSES_TOOLS, previous_response_id: paused.id, input: [...input] });
  const expired = { status: 400, message: expect.stringContaining("expired") as string };
  await expect(late()).rejects.toMatchObject(expired);
  pass((days - 1) * DAY_MS);
  expect(await server.recover()).toBe(0);
  await expect(late()).rejects.toMatchObject(expired);
  pass(2 * DAY_MS);
  expect(await server.recover()).toBe(1);
  expect(await outcomesIn(journal)).toEqual(["cancelled", "cancelled"]);
  await expect(late()).rejects.toMatchObject(gone);
});

test("a stored answer is kept for as long as its own server keeps it, whichever server looks for what has expired", async () => {
  const journal = createMemoryJournal();
  await using gateway = await openGateway([{ text: "One." }], { journal, storedMs: 60 * DAY_MS });
  await gateway.openai().responses.create({ model: "m", input: "How many?" });
  await using other = await openGateway([], { journal });
  pass(59 * DAY_MS);
  expect(await other.server.recover()).toBe(0);
  pass(DAY_MS);
  expect(await other.server.recover()).toBe(1);
});

testOfAll("in memory the oldest conversations of the tenant with most text end first, told once", async () => {
  await using gateway = await openGateway(Array.from({ length: 60 }, () => ({ text: "said" })));
  const isOpen = async (id: string, key?: string) => {
    const after = gateway.openai(key).responses.create({ model: "m", input: "more", previous_response_id: id });
    return after.then(
      () => true,
      ({ code }: { readonly code?: unknown }) => code !== "previous_response_not_found",
    );
  };
  const first = await gateway.openai("bea").responses.create({ model: "m", input: "short" });
  const input = "x".repeat(3_900_000);
  const ids: string[] = [];
  for (let count = 0; count < 10; count += 1)
    ids.push((await gateway.openai().responses.create({ model: "m", input })).id);
  expect(await Promise.all([ids[0], ids[1], ids.at(-1)].map((id) => isOpen(String(id))))).toEqual([false, false, true]);
  expect(await isOpen(first.id, "bea")).toBe(true);
  for (let count = 0; count < 10; count += 1) await ask(gateway, { messages: [{ role: "user", content: input }] });
  expect(await Promise.all(ids.map((id) => isOpen(id)))).toEqual(ids.map(() => false));
  expect(await isOpen(first.id, "bea")).toBe(true);
  expect((await outcomesIn(gateway.journal)).filter((one) => one === "open").length).toBeLessThan(12);
  const told = { code: "conversation_ended", message: expect.stringContaining("--journal") as string };
  expect(gateway.errors.splice(0)).toMatchObject([told]);
});

testOfAll(
  "what programs hold that wait for a client counts as what it sent does, and a refused request counts nothing",
  async () => {
    const source = `await Promise.all([1, 2, 3, 4].map((n) => tools.store({ text: n + "x".repeat(900_000) })));`;
    const programs = Array.from({ length: 20 }, () => ({ programs: [source] }));
    await using gateway = await openGateway([...programs, { text: "said" }, { text: "said" }]);
    const store = { ...functionTool("store"), parameters: { type: "object" }, strict: false } as never;
    const tools = [RESPONSES_PROGRAMS, store];
    for (let count = 0; count < 20; count += 1)
      await gateway.openai().responses.create({ model: "m", input: "go", tools, store: count % 2 === 0 });
    expect((await outcomesIn(gateway.journal)).filter((one) => one === "open").length).toBeLessThan(20);
    expect(gateway.errors.splice(0)).toMatchObject([{ code: "conversation_ended" }]);
    const first = await gateway.openai("bea").responses.create({ model: "m", input: "short" });
    const call = { type: "function_call", name: "f", arguments: "{}" } as const;
    const calls = Array.from({ length: 1001 }, (_, id) => ({ ...call, call_id: String(id) }));
    const outputs = calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "" }) as const);
    const said = (content: string) => ({ role: "user", content }) as const;
    const input = [said("x".repeat(3_900_000)), ...calls, ...outputs, said("more")];
    for (let count = 0; count < 10; count += 1)
      await expect(gateway.openai("bea").responses.create({ model: "m", input })).rejects.toThrow("1000 calls");
    const after = { model: "m", input: "more", previous_response_id: first.id };
    expect((await gateway.openai("bea").responses.create(after)).output_text).toBe("said");
  },
);

test("a conversation whose journal was redacted ends as the others do", async () => {
  const redact = ({ text }: { readonly text: string }) =>
    text.includes("Ann") ? [{ start: text.indexOf("Ann"), end: text.indexOf("Ann") + 3, what: "name" }] : [];
  await using gateway = await openGateway([{ text: "Ten." }], { pauseMs: PAUSE_MS, runtime: { redact } });
  const { json: message } = await ask(gateway, { messages: [{ role: "user", content: "How many has Ann?" }] });
  expect(message.content).toMatchObject([{ text: "Ten." }]);
  pass(PAUSE_MS);
  expect(await gateway.server.recover()).toBe(1);
  expect(await outcomesIn(gateway.journal)).toEqual(["answered"]);
});

test("calls of the model itself are answered however late: the history goes on, and no call is lost", async () => {
  const script: readonly ScriptedStep[] = [
    { calls: [{ tool: "depot", input: { id: 1 } }] },
    ({ results }) => ({ text: `got ${results[0]?.text}` }),
  ];
  await using gateway = await openGateway(script, { pauseMs: PAUSE_MS });
  const { json: message } = await ask(gateway, { messages: [USER] });
  const { responses } = gateway.openai();
  const asked = { model: "m", tools: RESPONSES_TOOLS };
  const called = await responses.create({ ...asked, input: "How many?" });
  for (const swept of [false, true]) {
    pass(PAUSE_MS);
    if (swept) await gateway.server.recover();
    expect((await ask(gateway, answers(message))).json.content).toMatchObject([{ text: 'got {"n":1}' }]);
    const [call] = called.output as unknown as readonly { readonly call_id: string }[];
    const input = [{ type: "function_call_output" as const, call_id: call?.call_id ?? "", output: "ten" }];
    const done = await responses.create({ ...asked, previous_response_id: called.id, input });
    expect(done.output_text).toBe("got ten");
  }
});
