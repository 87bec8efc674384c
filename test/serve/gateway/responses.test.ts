import type OpenAI from "openai";
import { scriptedModel, type ScriptedStep } from "portcullis/testing";
import { expect, test } from "vitest";
import {
  functionTool,
  openGateway,
  type OpenGateway,
  outputsOf,
  responding,
  RESPONSES_PROGRAMS,
  SUM,
  WAYS,
} from "./gateways.ts";

type Item = OpenAI.Responses.ResponseInputItem;
type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;

const DEPOT = functionTool("depot");
const TOOLS = [RESPONSES_PROGRAMS, DEPOT, functionTool("stock", ["direct"])];

const SCRIPT: readonly ScriptedStep[] = [
  { text: "I will add.", programs: [SUM] },
  ({ results }) => ({ text: `It is ${results[0]?.text}.`, calls: [{ tool: "stock", input: { id: 3 } }] }),
  ({ results }) => ({ text: `Stock: ${results[0]?.text}` }),
  ({ said }) => ({ text: `heard ${said.at(-1)}` }),
];

test.each([
  [
    "a whole number that no double keeps is its digits",
    '{"id":9007199254740993,"n":1.5}',
    { id: "9007199254740993", n: 1.5 },
  ],
  ["a text with a name twice stays text", '{"id":1,"id":2}', '{"id":1,"id":2}'],
  ["a number that is too large stays text", "[1e999]", "[1e999]"],
  ["the same in a long text", `{"long":"${"x".repeat(100_000)}","id":9007199254740993}`, "9007199254740993"],
])("in an output that a program is given, %s", async (_, output, value) => {
  const program = "const value = await tools.depot({ id: 1 }); return JSON.stringify(value.long ? value.id : value)";
  let told: unknown;
  await using gateway = await openGateway([
    { programs: [program] },
    ({ results }) => {
      told = JSON.parse(JSON.parse(results[0]?.text ?? "") as string);
      return { text: "Done." };
    },
  ]);
  const ask = asking(gateway);
  const first = await ask({ input: "Go on." });
  const [call] = outputsFor(first);
  await ask({ previous_response_id: first.id, input: [{ ...call, output } as Item] });
  expect(told).toEqual(value);
});

const isCall = (item: { readonly type: string }) => item.type === "function_call";

/** The output of each call is ten times what it asks for. */
const outputsFor = (response: OpenAI.Responses.Response) =>
  response.output.flatMap((item) => {
    const { id } = JSON.parse((item as { arguments?: string }).arguments ?? "{}") as { id?: number };
    return outputsOf({ ...response, output: [item] }, JSON.stringify({ n: (id ?? 0) * 10 }));
  });

/** Takes out of all that is kept what the pattern finds. */
const redacting = (pattern: RegExp, what: string) => ({
  redact: ({ text }: { readonly text: string }) =>
    [...text.matchAll(pattern)].map(({ index, 0: { length } }) => ({ start: index, end: index + length, what })),
});
const asking = (gateway: OpenGateway, isStreamed = false) => responding(gateway, isStreamed, { tools: TOOLS });

const typesOf = ({ output }: OpenAI.Responses.Response) => output.map(({ type }) => type);

test("the events of a stream end with the items that were announced, in numbers that count", async () => {
  await using gateway = await openGateway(SCRIPT);
  const stream = await gateway
    .openai()
    .responses.create({ model: "m", tools: TOOLS, input: "How many?", stream: true });
  const events = await Array.fromAsync(stream);
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
  const done = events.flatMap((event) => (event.type === "response.output_item.done" ? [event.item] : []));
  const last = events.at(-1);
  expect(last?.type === "response.completed" && last.response.output).toEqual(done);
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["response.created", "response.in_progress"]);
});

test("a streamed answer out of which the journal has something taken is what the model said, and garbled nowhere", async () => {
  const runtime = redacting(/DE89/g, "iban");
  await using gateway = await openGateway([{ text: "Pay to DE89, please." }], { runtime });
  const { responses } = gateway.openai();
  const events = await Array.fromAsync(await responses.create({ model: "m", input: "To whom?", stream: true }));
  const pieces = events.flatMap((event) => (event.type === "response.output_text.delta" ? [event.delta] : []));
  const last = events.at(-1);
  const whole = last?.type === "response.completed" ? JSON.stringify(last.response.output) : "";
  expect(pieces.join("")).toBe("Pay to DE89, please.");
  expect(whole).toContain("Pay to DE89, please.");
});

test("items that the server has are referred to", async () => {
  await using gateway = await openGateway(SCRIPT);
  const ask = asking(gateway);
  const first = await ask({ input: "How many?" });
  const references = first.output.map((item) =>
    isCall(item) ? item : { type: "item_reference", id: (item as { readonly id: string }).id },
  );
  const input = [{ role: "user", content: "How many?" }, ...references, ...outputsFor(first)] as Item[];
  const second = await ask({ input });
  expect(typesOf(second)).toEqual(["program_output", "message", "function_call"]);
  const unknown = ask({ input: [{ type: "item_reference", id: "prog_nothing" }] });
  await expect(unknown).rejects.toMatchObject({ status: 400, message: expect.stringContaining("not found") as string });
});

test.each(WAYS)("of a response that is not stored nothing is kept once nothing waits, %s", async (_, isStreamed) => {
  const program: ScriptedStep = { programs: ["return (await tools.depot({ id: 1 })).n;"] };
  await using gateway = await openGateway([program, ({ results }) => ({ text: `It is ${results[0]?.text}.` })]);
  const ask = asking(gateway, isStreamed);
  const openOnes = () => Array.fromAsync(gateway.journal.list({ open: true }));
  const user = { role: "user", content: "How many?" } as const;
  const first = await ask({ input: [user], store: false });
  expect(await openOnes()).toHaveLength(2);
  const input = [user, ...first.output, ...outputsFor(first)] as Item[];
  expect((await ask({ input, store: false })).output_text).toBe("It is 10.");
  expect(await openOnes()).toEqual([]);
  await expect(ask({ input, store: false })).rejects.toMatchObject({ status: 400 });
  const plain = await ask({ input: [user], store: true });
  expect(await openOnes()).not.toEqual([]);
  await ask({ input: "more", store: false, previous_response_id: plain.id }).catch(() => {});
  expect(await openOnes()).not.toEqual([]);
});

test.each(WAYS)(
  "a client is asked at once for programs that cannot be put down, as often as they ask, %s",
  async (_, isStreamed) => {
    const twice = (id: number) =>
      `const at = "ann@example.com"; const { n } = await tools.depot({ id: ${id} }); return n + (await tools.depot({ id: n })).n;`;
    const script: readonly ScriptedStep[] = [
      { programs: [twice(1), twice(2)] },
      ({ results }) => ({ text: results.map(({ text }) => text.split("\n")[0]).join(" and ") }),
    ];
    await using gateway = await openGateway(script, { runtime: redacting(/ann@example\.com/g, "address") });
    const ask = asking(gateway, isStreamed);
    const input: Item[] = [{ role: "user", content: "How many?" }];
    for (const calls of [2, 2, 0]) {
      const answer = await ask({ input, store: false });
      expect(answer.output.filter(isCall)).toHaveLength(calls);
      expect(answer.output_text).toBe(calls > 0 ? "" : "110 and 220");
      input.push(...(answer.output as Item[]), ...outputsFor(answer));
    }
    expect(await Array.fromAsync(gateway.journal.list({ open: true }))).toEqual([]);
  },
);

test.each(WAYS)(
  "a client gets the input of a program's call whole of which the journal has a part, and none else gets that part, %s",
  async (_, isStreamed) => {
    // What the source says itself is taken out of the program too.
    const to = isStreamed ? '"ann@example.com"' : '"ann" + "@example.com"';
    const call = (id: number) => `(await tools.send({ to: ${to}, id: ${id} })).n`;
    const script: readonly ScriptedStep[] = [
      { programs: [`return ${call(1)} + ${call(2)};`] },
      ({ results }) => ({ text: results[0]?.text.split("\n")[0] ?? "" }),
    ];
    await using gateway = await openGateway(script, { runtime: redacting(/ann@example\.com/g, "address") });
    const properties = { to: { type: "string" }, id: { type: "number" } };
    const parameters = { type: "object", properties, required: ["to", "id"], additionalProperties: false };
    const send = { ...functionTool("send"), parameters } as OpenAI.Responses.Tool;
    const ask = asking(gateway, isStreamed);
    const tools = [TOOLS[0], send] as Body["tools"] & object;
    const input: Item[] = [{ role: "user", content: "Send it." }];
    const said: string[] = [];
    for (const text of ["", "", "30"]) {
      const answer = await ask({ input, tools });
      expect(answer.output_text).toBe(text);
      said.push(...answer.output.flatMap((item) => (item.type === "function_call" ? [item.arguments] : [])));
      input.push(...(answer.output as Item[]), ...outputsFor(answer));
    }
    expect(said.map((text) => JSON.parse(text) as unknown)).toEqual(
      [1, 2].map((id) => ({ to: "ann@example.com", id })),
    );
    for await (const { execution } of gateway.journal.list({}))
      expect(JSON.stringify(await Array.fromAsync(gateway.journal.read(execution)))).not.toContain("ann@example.com");
    const before = ask({ input: input.slice(0, 4), tools });
    await expect(before).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("was redacted") as string,
    });
  },
);

test("a response that is followed twice goes two ways", async () => {
  await using gateway = await openGateway(
    Array.from({ length: 4 }, (): ScriptedStep => ({ said }) => ({ text: said.join("|") })),
  );
  const ask = asking(gateway);
  const first = await ask({ input: "one", tools: [] });
  const [left, right] = [
    await ask({ input: "two", tools: [], previous_response_id: first.id }),
    await ask({ input: "three", tools: [], previous_response_id: first.id }),
  ];
  expect([first, left, right].map(({ output_text: text }) => text)).toEqual(["one", "one|two", "one|three"]);
});

test("another model goes on with the turns of a response, and not with a program that waits", async () => {
  const step: ScriptedStep = ({ said }) =>
    said.at(-1) === "three" ? { programs: ["return tools.depot({ id: 1 })"] } : { text: said.join("|") };
  const named = (name: string) => scriptedModel([step, step], { name: `scripted:${name}` });
  await using gateway = await openGateway([], { model: [named("m"), named("other")] });
  const ask = asking(gateway);
  const first = await ask({ input: "one", tools: [] });
  const other = await ask({ model: "other", input: "two", tools: [], previous_response_id: first.id });
  expect([other.model, other.output_text]).toEqual(["other", "one|two"]);
  const paused = await ask({ input: "three", tools: TOOLS, previous_response_id: first.id });
  const answers = { input: outputsFor(paused), tools: TOOLS, previous_response_id: paused.id };
  await expect(ask({ model: "other", ...answers })).rejects.toThrow("A program of the model scripted:m waits.");
});

const AGENT = { type: "agent", caller_id: "cprog_1" };
const F = { type: "function", name: "f", description: "d", parameters: { type: "object" } };
const CRM = { type: "namespace", description: "d" };
const CALL = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}", caller: AGENT };
const OUTPUT = { type: "function_call_output", call_id: "call_1", output: "1" };

test.each<[string, object, number, string, string | null]>([
  ["background", { background: true }, 400, "unsupported_parameter", "background"],
  ["an unknown field", { wish: 1 }, 400, "unknown_parameter", "wish"],
  ["web search", { tools: [{ type: "web_search" }] }, 400, "null", "tools[0].type"],
  ["a tool for programs without programs", { tools: [DEPOT] }, 400, "null", "tools[0].allowed_callers"],
  [
    "a tool with the name of a namespace",
    { tools: [F, { ...CRM, name: "f", tools: [F] }] },
    400,
    "null",
    "tools[0].name",
  ],
  ["another model", { model: "other" }, 404, "model_not_found", "model"],
  [
    "an unknown response",
    { previous_response_id: "resp_x" },
    400,
    "previous_response_not_found",
    "previous_response_id",
  ],
  ["no item", { input: [] }, 400, "null", "input"],
  ["a caller that is no program", { input: [CALL, OUTPUT] }, 400, "null", "input[0].caller"],
])("refused in the vendor's form before anything is asked: %s", async (_, change, status, code, param) => {
  await using gateway = await openGateway([{ text: "asked" }]);
  const asked = gateway.openai().responses.create({ model: "m", input: "x", ...change } as Body);
  const error = (await asked.catch((thrown: unknown) => thrown)) as InstanceType<typeof OpenAI.APIError>;
  expect([error.status, String(error.code), error.param ?? null]).toEqual([status, code, param]);
  expect(error.requestID).toMatch(/^req_/);
  expect(await Array.fromAsync(gateway.journal.list())).toEqual([]);
});

test("responses and programs of another key are none", async () => {
  await using gateway = await openGateway(SCRIPT);
  const first = await asking(gateway)({ input: "How many?" });
  for (const key of ["cat", "bea"]) {
    const { responses } = gateway.openai(key);
    await expect(responses.delete(first.id)).rejects.toMatchObject({ status: 404 });
    const after = responses.create({ model: "m", tools: TOOLS, input: "more", previous_response_id: first.id });
    await expect(after).rejects.toMatchObject({ status: 400, code: "previous_response_not_found" });
    const input = [{ role: "user", content: "How many?" }, ...first.output, ...outputsFor(first)] as Item[];
    await expect(responses.create({ model: "m", tools: TOOLS, input })).rejects.toMatchObject({ status: 400 });
  }
});

test("a program's calls that were answered take the same results again, and no others", async () => {
  await using gateway = await openGateway([
    { programs: ["return (await tools.depot({ id: 1 })).length"] },
    ({ results }) => ({ text: `${results[0]?.text}` }),
  ]);
  const ask = asking(gateway);
  const { id, ...called } = await ask({ input: "How many?" });
  const [call] = outputsFor(called as OpenAI.Responses.Response);
  const answer = (output: string) => ask({ previous_response_id: id, input: [{ ...call, output } as Item] });
  const done = await answer("ten 1");
  expect((await answer("ten 1")).id).toBe(done.id);
  await expect(answer("ten 2")).rejects.toThrow("other results of these calls. Repeat those");
});

test("a response that was deleted is none", async () => {
  await using gateway = await openGateway(SCRIPT);
  const ask = asking(gateway);
  const { responses } = gateway.openai();
  const first = await ask({ input: "How many?" });
  const second = await ask({ input: outputsFor(first), previous_response_id: first.id });
  const items = second.output.map((item) => ({ type: "item_reference", id: String((item as { id?: string }).id) }));
  const refer = () => ask({ input: [...items, { role: "user", content: "more" }] as Item[] });
  await responses.delete(second.id);
  await expect(refer()).rejects.toMatchObject({ status: 400 });
  await expect(ask({ input: "more", previous_response_id: second.id })).rejects.toMatchObject({ status: 400 });
  const other = await ask({ input: "How many?" });
  await responses.delete(other.id);
  await expect(ask({ input: outputsFor(other), previous_response_id: other.id })).rejects.toMatchObject({
    status: 400,
  });
});
