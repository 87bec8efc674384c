import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { readMessages } from "../../../src/models/anthropic/surface/read-messages.ts";
import { readItems } from "../../../src/models/openai/surface/read-items.ts";
import { processorMs, slowness } from "../../support/slowness.ts";
import { openGateway, type OpenGateway } from "./gateways.ts";

const KEY = "con-0123456789abcdef";
const MIB = 1024 * 1024;

function post({ fetch }: OpenGateway, path: string, body: object): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    "anthropic-version": "2023-06-01",
    authorization: `Bearer ${KEY}`,
  };
  return fetch(`http://localhost${path}`, { method: "POST", headers, body: JSON.stringify({ model: "m", ...body }) });
}

const messages = (content: unknown) => ({ max_tokens: 10, messages: [{ role: "user", content }] });

/** Repeats work, and gives the longest time of the processor that it has kept from all else. */
async function longestMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  const over = new AbortController();
  const looking = (async () => {
    while (!over.signal.aborted) longest = Math.max(longest, await processorMs(() => setImmediate()));
  })();
  await work();
  over.abort();
  await looking;
  return longest;
}

test.each([
  ["one word", "a".repeat(4_000_000)],
  ["marks above letters", "\u0301".repeat(1_900_000)],
  ["digits", "7".repeat(4_000_000)],
])(
  "counting the tokens of the largest body keeps nothing else waiting: %s",
  async (_, text) => {
    await using gateway = await openGateway([]);
    // The first request loads code.
    expect((await post(gateway, "/v1/messages/count_tokens", messages("x"))).status).toBe(200);
    const longest = await longestMs(async () => {
      expect((await post(gateway, "/v1/messages/count_tokens", messages(text))).status).toBe(200);
    });
    const allowed = 50 * slowness("processor");
    process.stdout.write(`longest turn: ${longest.toFixed(0)} ms of the processor, allowed ${allowed.toFixed(0)} ms\n`);
    expect(longest).toBeLessThan(allowed);
  },
  120_000,
);

test("twice as many calls, programs and answers take twice as long to read, not four times", async () => {
  const history = (count: number) => {
    const numbers = Array.from({ length: count }, (_, index) => index);
    const caller = (index: number) => ({ type: "code_execution_20260120", tool_id: `p${index}` });
    return {
      messages: [
        { role: "user", content: "x" },
        {
          role: "assistant",
          content: [
            ...numbers.map((one) => ({
              type: "server_tool_use",
              id: `p${one}`,
              name: "code_execution",
              input: { code: "" },
            })),
            ...numbers.map((one) => ({ type: "tool_use", id: `c${one}`, name: "f", input: {}, caller: caller(one) })),
            ...numbers.map((one) => ({ type: "tool_use", id: `d${one}`, name: "f", input: {} })),
          ],
        },
        {
          role: "user",
          content: ["c", "d"].flatMap((of) =>
            numbers.map((one) => ({ type: "tool_result", tool_use_id: of + one, content: "" })),
          ),
        },
        {
          role: "assistant",
          content: numbers.map((one) => ({
            type: "code_execution_tool_result",
            tool_use_id: `p${one}`,
            content: { type: "code_execution_result", stdout: "", stderr: "", return_code: 0, content: [] },
          })),
        },
        { role: "user", content: "y" },
      ],
    };
  };
  const least = async (count: number) => {
    const body = history(count);
    const times: number[] = [];
    for (let round = 0; round < 5; round += 1) times.push(await processorMs(() => readMessages(body)));
    return Math.min(...times);
  };
  await least(4000);
  const [one, two] = [await least(8000), await least(16_000)];
  process.stdout.write(`8,000: ${one.toFixed(1)} ms, 16,000: ${two.toFixed(1)} ms\n`);
  expect(two / one).toBeLessThan(3.2);
}, 60_000);

test("twice as many items of OpenAI's wire take twice as long to read, not four times", async () => {
  const history = (count: number) => {
    const numbers = Array.from({ length: count }, (_, index) => index);
    const call = { type: "function_call", name: "f", arguments: "{}" };
    return {
      input: [
        { role: "user", content: "x" },
        ...numbers.map((one) => ({ type: "program", call_id: `p${one}`, code: "", fingerprint: "f" })),
        ...numbers.map((one) => ({ ...call, call_id: `c${one}`, caller: { type: "program", caller_id: `p${one}` } })),
        ...numbers.map((one) => ({ ...call, call_id: `d${one}` })),
        ...["c", "d"].flatMap((of) =>
          numbers.map((one) => ({ type: "function_call_output", call_id: of + one, output: "" })),
        ),
        ...numbers.map((one) => ({ type: "program_output", call_id: `p${one}`, result: "", status: "completed" })),
        { role: "user", content: "y" },
      ],
    };
  };
  const least = async (count: number) => {
    const body = history(count);
    const times: number[] = [];
    for (let round = 0; round < 5; round += 1) times.push(await processorMs(() => readItems(body, new Map(), false)));
    return Math.min(...times);
  };
  await least(4000);
  const [one, two] = [await least(8000), await least(16_000)];
  process.stdout.write(`8,000: ${one.toFixed(1)} ms, 16,000: ${two.toFixed(1)} ms\n`);
  expect(two / one).toBeLessThan(3.2);
}, 60_000);

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
  const tools = [{ name: "depot", input_schema: { type: "object" } }];
  const first = (await (await post(gateway, "/v1/messages", { ...messages("x"), tools })).json()) as {
    readonly content: readonly { readonly id: string }[];
  };
  const result = { type: "tool_result", tool_use_id: first.content[0]?.id, content: "4" };
  const body = {
    model: "m",
    max_tokens: 10,
    tools,
    messages: [
      { role: "user", content: "x" },
      { role: "assistant", content: first.content },
      { role: "user", content: [result] },
    ],
  };
  const send = (signal?: AbortSignal) =>
    gateway.fetch("http://localhost/v1/messages", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        authorization: `Bearer ${KEY}`,
      },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  const patient = send();
  await begun.promise;
  const left = new AbortController();
  const leaving = [1, 2, 3].map(() => send(left.signal));
  for (let turns = 0; turns < 20; turns += 1) await setImmediate();
  left.abort();
  go.resolve();
  const text = await (await patient).text();
  expect(text).toContain("Done.");
  await Promise.allSettled(leaving);
  const again = await send();
  expect([again.status, JSON.parse(await again.text()).content]).toEqual([200, JSON.parse(text).content]);
  expect([asked, gateway.errors]).toEqual([[0], []]);
});

test("a request has at most a thousand tools, however alike their names are", async () => {
  await using gateway = await openGateway([{ text: "asked" }]);
  const tools = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      name: index.toString(2).padStart(11, "0").replaceAll("0", "-").replaceAll("1", "_"),
      input_schema: { type: "object" },
    }));
  expect((await post(gateway, "/v1/messages", { ...messages("x"), tools: tools(1000) })).status).toBe(200);
  const refused = await post(gateway, "/v1/messages", { ...messages("x"), tools: tools(1001) });
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: { message: expect.stringContaining("at most 1000 tools") } },
  ]);
});

test("a reference, of which a request may have thousands, makes no more of a text than the key may hold", async () => {
  const long = "x".repeat(MIB);
  await using gateway = await openGateway([{ text: long }, { text: "heard" }]);
  const { responses } = gateway.openai();
  const said = await responses.create({ model: "m", input: "Say it." });
  const refer = (ids: readonly string[]) =>
    responses.create({
      model: "m",
      input: [
        ...ids.map((id) => ({ type: "item_reference" as const, id })),
        { role: "user" as const, content: "And?" },
      ],
    });
  const id = said.output[0]?.id ?? "";
  await expect(refer([id, id])).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("Duplicate item"),
  });
  expect(await refer([id])).toMatchObject({ output_text: "heard" });
  const more: string[] = [id];
  for (let count = 0; count < 85; count += 1)
    more.push((await responses.create({ model: "m", input: "Say it." })).output[0]?.id ?? "");
  await expect(refer(more)).rejects.toMatchObject({ status: 429 });
  expect(gateway.errors).toEqual([]);
}, 120_000);

test("streams that their client does not read count as held by its key, and give it back when the client leaves", async () => {
  await using gateway = await openGateway([{ text: "x".repeat(4 * MIB) }]);
  const open: Response[] = [];
  let refused: Response | undefined;
  while (!refused && open.length < 40) {
    const response = await post(gateway, "/v1/messages", { ...messages("x"), stream: true });
    if (response.status === 200) open.push(response);
    else refused = response;
    // The stream is made although nothing reads it.
    for (let turns = 0; turns < 200; turns += 1) await setImmediate();
  }
  expect([refused?.status, open.length < 25]).toEqual([429, true]);
  for (const { body } of open) await body?.cancel();
  const again = await post(gateway, "/v1/messages", { ...messages("x"), stream: true });
  expect(again.status).toBe(200);
  expect((await again.text()).length).toBeGreaterThan(4 * MIB);
}, 120_000);

test("however often a key asks for its answers, few of its journals are read at once", async () => {
  await using gateway = await openGateway([{ text: "said" }]);
  const { responses } = gateway.openai();
  const { id } = await responses.create({ model: "m", input: "Say it." });
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
    index % 2 === 0 ? responses.retrieve(id) : responses.inputItems.list(id),
  );
  await Promise.all(all);
  expect(most).toBe(2);
});
