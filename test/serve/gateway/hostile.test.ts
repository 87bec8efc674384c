import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { setImmediate } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { createSqliteJournal } from "portcullis";
import { testOfAll } from "../../support/all-tests.ts";
import { inATurn } from "../../support/in-a-turn.ts";
import type { Model } from "portcullis/models";
import { scriptedModel, type ScriptedStep } from "portcullis/testing";
import { answered, openGateway, type OpenGateway, outputsOf, post, send } from "./gateways.ts";

const MIB = 1024 * 1024;

const messages = (content: unknown) => ({ model: "m", max_tokens: 10, messages: [{ role: "user", content }] });
const TOOLS = [{ name: "depot", input_schema: { type: "object" } }];

test("requests whose clients left while they waited for their turn ask no model, and the next one is answered", async () => {
  const asked: number[] = [];
  const go = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  await using gateway = await openGateway([
    { calls: [{ tool: "depot", input: {} }] },
    async () => {
      asked.push(asked.length);
      begun.resolve();
      await go.promise;
      return { text: "Done." };
    },
  ]);
  const asks = { ...messages("x"), tools: TOOLS };
  const body = { ...asks, messages: answered([{ role: "user", content: "x" }], (await post(gateway, asks)).json) };
  const patient = post(gateway, body);
  await begun.promise;
  const left = new AbortController();
  const leaving = [1, 2, 3].map(() => send(gateway, body, { signal: left.signal }));
  for (let turns = 0; turns < 20; turns += 1) await setImmediate();
  left.abort();
  go.resolve();
  const { text, json } = await patient;
  expect(text).toContain("Done.");
  await Promise.allSettled(leaving);
  const again = await post(gateway, body);
  expect([again.status, again.json.content]).toEqual([200, json.content]);
  expect(asked).toEqual([0]);
});

test("an answer with large calls comes in small parts, and none of it is made for a key that holds what it may", async () => {
  const calls = Array.from({ length: 20 }, (_, n) => ({ tool: "depot", input: { n, text: "x".repeat(900_000) } }));
  await using gateway = await openGateway([{ calls }], { maxBodyBytes: 64 * MIB });
  const ask = (stream: boolean) => send(gateway, { ...messages("x"), tools: TOOLS, stream });
  const parts = await Array.fromAsync((await ask(false)).body ?? []);
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(MIB);
  const { content } = JSON.parse(Buffer.concat(parts).toString()) as { readonly content: readonly object[] };
  expect(content).toMatchObject(calls.map(({ input }) => ({ type: "tool_use", input })));
  const pulled = Promise.withResolvers<void>();
  const body = new ReadableStream({ pull: () => (pulled.resolve(), new Promise(() => {})) });
  const headers = { authorization: "Bearer con-0123456789abcdef", "content-type": "application/json" };
  const init = { method: "POST", headers, body, duplex: "half" };
  const slow = gateway.fetch("http://localhost/v1/messages", init);
  slow.catch(() => {});
  await pulled.promise;
  const text = await (await ask(true)).text();
  expect(text).toContain("hold too many bytes");
  expect(text).not.toContain("content_block_start");
});

test("a request has at most a thousand tools, however alike their names are", async () => {
  await using gateway = await openGateway([{ text: "asked" }]);
  const tools = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      name: index.toString(2).padStart(11, "0").replaceAll("0", "-").replaceAll("1", "_"),
      input_schema: { type: "object" },
    }));
  expect((await post(gateway, { ...messages("x"), tools: tools(1000) })).status).toBe(200);
  const { status, json } = await post(gateway, { ...messages("x"), tools: tools(1001) });
  expect([status, json.error.message]).toEqual([400, expect.stringContaining("at most 1000 tools")]);
});

const MANY = `{"a":[${"[],".repeat(70_000)}0]}`;
const CALL = { type: "function_call", call_id: "c1", name: "depot" };

test.each<[string, readonly ScriptedStep[], string, (first: string) => object]>([
  [
    "an output for a program",
    [{ programs: ["return Object.keys(await tools.depot({}));"] }, ({ results }) => ({ text: results[0]?.text ?? "" })],
    "/v1/responses",
    (first) => {
      const response = JSON.parse(first) as OpenAI.Responses.Response;
      return { previous_response_id: response.id, input: outputsOf(response, MANY) };
    },
  ],
  [
    "an input that is repeated",
    [{ text: "first" }, { text: "first" }],
    "/v1/responses",
    () => ({
      input: [
        { role: "user", content: "x" },
        { ...CALL, arguments: MANY },
        { type: "function_call_output", call_id: "c1", output: MANY },
        { role: "user", content: "y" },
      ],
    }),
  ],
  [
    "a result of the model's own call",
    [{ calls: [{ tool: "depot", input: {} }] }, ({ results }) => ({ text: results[0]?.text ?? "" })],
    "/v1/messages",
    (first) => ({ messages: answered([{ role: "user", content: "x" }], JSON.parse(first) as Anthropic.Message, MANY) }),
  ],
])("a text of a client that would be many values is parsed by nobody: %s", async (_, script, path, next) => {
  await using gateway = await openGateway(script);
  const own = { type: "function", name: "depot", parameters: { type: "object" }, allowed_callers: ["programmatic"] };
  const first = path.endsWith("messages")
    ? { ...messages("x"), tools: TOOLS }
    : { model: "m", input: "x", tools: [{ type: "programmatic_tool_calling" }, own] };
  const begun = await (await send(gateway, first, { path })).text();
  const parse = vi.spyOn(JSON, "parse");
  const answer = await send(gateway, { ...first, ...next(begun) }, { path });
  const text = await answer.text();
  const parsed = parse.mock.calls.filter(([one]) => one === MANY).length;
  parse.mockRestore();
  expect([answer.status, parsed]).toEqual([200, 0]);
  expect(text).toMatch(/first|"a"|\[\]/);
});

const refer = ({ openai }: OpenGateway, ids: readonly string[]) =>
  openai().responses.create({
    model: "m",
    input: [...ids.map((id) => ({ type: "item_reference" as const, id })), { role: "user" as const, content: "And?" }],
  });

test("a reference stands for what it names, and is refused where it comes twice", async () => {
  await using gateway = await openGateway([{ text: "said" }, { text: "heard" }]);
  const { output } = await gateway.openai().responses.create({ model: "m", input: "Say it." });
  const id = output[0]?.id ?? "";
  await expect(refer(gateway, [id, id])).rejects.toMatchObject({ status: 400 });
  expect(await refer(gateway, [id])).toMatchObject({ output_text: "heard" });
});

testOfAll(
  "references, of which a request may have thousands, make no more of a text than the key may hold",
  async () => {
    // A journal in memory would forget the first of them.
    using journal = createSqliteJournal({ path: ":memory:" });
    await using gateway = await openGateway([{ text: "x".repeat(4 * MIB) }], { journal });
    const ids: string[] = [];
    for (let count = 0; count < 23; count += 1)
      ids.push((await gateway.openai().responses.create({ model: "m", input: "Say it." })).output[0]?.id ?? "");
    await expect(refer(gateway, ids)).rejects.toMatchObject({ status: 429 });
  },
  120_000,
);

testOfAll(
  "streams that their client does not read count as held by its key, and give it back when the client leaves",
  async () => {
    await using gateway = await openGateway([{ text: "x".repeat(4 * MIB) }]);
    const open: Response[] = [];
    while (open.length < 25) {
      open.push(await send(gateway, { ...messages("x"), stream: true }));
      // The stream is made although nothing reads it.
      for (let turns = 0; turns < 200; turns += 1) await setImmediate();
    }
    const last = await open.pop()?.text();
    expect(last).toContain("hold too many bytes");
    expect(last?.length).toBeLessThan(1000);
    for (const { body } of open) await body?.cancel();
    const again = await post(gateway, { ...messages("x"), stream: true });
    expect(again.status).toBe(200);
    expect(again.text.length).toBeGreaterThan(4 * MIB);
    expect(gateway.errors.splice(0)).toMatchObject([{ code: "conversation_ended" }]);
  },
  120_000,
);

test("however often a key names its answers, few of its journals are read at once", async () => {
  await using gateway = await openGateway([{ text: "said" }]);
  const { responses } = gateway.openai();
  const { id, output } = await responses.create({ model: "m", input: "Say it." });
  const input = output.map((item) => ({ type: "item_reference" as const, id: String(item.id) }));
  let reading = 0;
  let most = 0;
  const read = gateway.journal.read.bind(gateway.journal);
  gateway.journal.read = async function* (...given) {
    reading += 1;
    most = Math.max(most, reading);
    try {
      for (let turns = 0; turns < 5; turns += 1) await setImmediate();
      yield* read(...given);
    } finally {
      reading -= 1;
    }
  };
  const all = Array.from({ length: 60 }, (_, index) =>
    index % 2 === 0 ? responses.delete(id) : responses.create({ model: "m", input, background: true }),
  );
  await Promise.allSettled(all);
  expect(most).toBe(2);
});

test("a long history reaches the journal and the model in pieces, and calls beyond those of a turn reach neither", async () => {
  const { most, done } = inATurn();
  const script = scriptedModel(
    Array.from({ length: 601 }, () => ({ text: "done" })),
    { name: "scripted:m" },
  );
  let written = 0;
  const converse: Model["converse"] = async (opening) => {
    const conversation = await script.converse(opening);
    const restore = conversation.restore?.bind(conversation);
    conversation.restore = (...turn) => {
      done("told");
      restore?.(...turn);
    };
    return conversation;
  };
  await using gateway = await openGateway({ ...script, converse });
  const append = gateway.journal.append.bind(gateway.journal);
  gateway.journal.append = (execution, head, records, options) => {
    written = Math.max(written, records.length);
    return append(execution, head, records, options);
  };
  const { responses } = gateway.openai();
  const turn = (id: number) => [
    { role: "user" as const, content: "go" },
    { type: "function_call" as const, call_id: `c${id}`, name: "get", arguments: "{}" },
    { type: "function_call_output" as const, call_id: `c${id}`, output: "1" },
  ];
  const input = [...Array.from({ length: 600 }, (_, id) => turn(id)).flat(), { role: "user" as const, content: "go" }];
  const tools = [{ type: "function" as const, name: "get", parameters: { type: "object" }, strict: false }];
  expect((await responses.create({ model: "m", tools, input })).output_text).toBe("done");
  expect(most.told).toBeGreaterThan(0);
  expect(most.told).toBeLessThan(10);
  expect(written).toBeLessThan(600);
  const all = Array.from({ length: 1001 }, (_, id) => turn(id));
  const wide = [...all.flatMap(([, call]) => call ?? []), ...all.flatMap(([, , output]) => output ?? [])];
  const refused = responses.create({ model: "m", tools, input: [{ role: "user", content: "go" }, ...wide] });
  await expect(refused).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("1000 calls") as string,
  });
  expect(await Array.fromAsync(gateway.journal.list())).toHaveLength(1);
});

test("two requests whose answers are each other's are both answered, and so is the next one", async () => {
  await using gateway = await openGateway([
    { programs: ["return 1"] },
    { calls: [{ tool: "depot", input: {} }] },
    { text: "Done." },
  ]);
  const tools = [...TOOLS, { type: "code_execution_20250825", name: "code_execution" }];
  const begun = async (text: string) => {
    const { json } = await post(gateway, { ...messages(text), tools });
    return { history: answered([{ role: "user", content: text }], json), container: json.container?.id };
  };
  const [one, other] = [await begun("one"), await begun("other")];
  const go = async ({ history }: typeof one, { container }: typeof one) =>
    (await post(gateway, { ...messages("x"), tools, container, messages: history })).status;
  expect(await Promise.all([go(one, other), go(other, one)])).toEqual([200, 200]);
  expect(await go(one, one)).toBe(200);
});
