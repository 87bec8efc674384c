import { describe, expect, test } from "vitest";
import { z } from "zod";
import { describeOfAll, runtimeWith } from "../../../support/index.ts";
import { openai } from "../../../../src/index.ts";
import type { OpenAiOptions } from "../../../../src/models/index.ts";
import { ResponsesStream } from "../../../../src/models/openai/responses/reply.ts";
import { responsesWire } from "./wire.ts";
import { UNSHOWN } from "../../converse.ts";
import { type Asking, behavesAsModel, counted, askOn, depot, depots } from "../../provider.suite.ts";
import { MODES, type Served, type Wire, type WireStep } from "../../wire.ts";

behavesAsModel("OpenAI Responses", responsesWire);
describeOfAll("stored by the provider", () =>
  behavesAsModel("OpenAI Responses, stored", wireWith({ store: true }), { sameReplies: true }),
);

function wireWith(options: Partial<OpenAiOptions>): Wire {
  return { ...responsesWire, model: (given) => openai({ model: "gpt-test", ...given, ...options }) };
}

const caller = { type: "program", caller_id: "call_p" };
const fingerprint = "v1:\u0000é+/==\n🜁 ".repeat(40);
const program = { type: "program", id: "prog_1", call_id: "call_p", code: "text(1)", fingerprint };
const programOutput = (result: string, status = "completed") => ({
  type: "program_output",
  id: "po_1",
  call_id: "call_p",
  result,
  status,
});
const call = (id: string, name: string, input: object, by: object | null = null) => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: id,
  name,
  arguments: JSON.stringify(input),
  status: "completed",
  caller: by,
});
const message = (text: string) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});
const output = (...items: object[]) => ({ raw: { output: items } });

const run = (script: readonly WireStep[], asking?: Asking, wire: Wire = responsesWire) => askOn(wire, script, asking);
const inputOf = ({ asked }: Served, request: number) => (asked[request]?.body.input ?? []) as Record<string, unknown>[];

describe.each(MODES)("OpenAI Responses, %s", (_, stream) => {
  const here = (script: readonly WireStep[], asking: Asking = {}, wire?: Wire) =>
    run(script, { stream, ...asking }, wire);
  const hosted = (script: readonly WireStep[], asking: Asking = {}, wire?: Wire) =>
    here(script, { tools: [depot()], programs: "hosted", ...asking }, wire);

  test("a call without a call id, or with an empty one, is answered by the item's own id", async () => {
    const f = counted("f");
    const { call_id: _, ...bare } = call("c_1", "f", { k: 1 });
    const { served, answer } = await here(
      [output(bare, { ...call("c_2", "f", { k: 2 }), call_id: "" }), { text: "4" }],
      {
        tools: [f.tool],
      },
    );
    expect([answer, served.refusals, f.inputs]).toEqual(["4", [], [{ k: 1 }, { k: 2 }]]);
    const outputs = inputOf(served, 1).filter(({ type }) => type === "function_call_output");
    expect(outputs.map(({ call_id }) => call_id)).toEqual(["fc_c_1", "fc_c_2"]);
  });

  test("a hosted program without a call id is known by the item's own id", async () => {
    const { call_id: _, ...bare } = program;
    const by = { type: "program", caller_id: "prog_1" };
    const ended = { ...programOutput("8"), call_id: "prog_1" };
    const { served, answer, transcript } = await hosted([
      output(bare, call("c_1", "depot", { id: 1 }, by)),
      output(ended, message("8")),
    ]);
    expect([answer, served.refusals]).toEqual(["8", []]);
    expect(
      transcript.turns.flatMap(({ turn }) => turn.hosted.map((news) => "program" in news && news.program)),
    ).toEqual(["prog_1", "prog_1"]);
  });

  test.each<[string, object]>([
    ["function call", { ...call("", "f", { k: 1 }), id: "" }],
    ["custom call", { type: "custom_tool_call", name: "run_program", input: "return 1", status: "completed" }],
    ["program", { ...program, id: undefined, call_id: undefined }],
    ["end of a program", { ...programOutput("1"), call_id: undefined }],
  ])("a %s without any id makes the reply invalid, and nothing of it runs", async (__, item) => {
    const f = counted("f");
    const { ending } = await here([output(call("c_1", "f", { k: 1 }), item)], { tools: [f.tool] });
    expect(ending).toMatchObject({ type: "provider_failed", failure: { code: "reply_invalid" } });
    expect(f.inputs).toEqual([]);
  });

  test("R2: sealed reasoning is sent back in order, before its calls and their outputs", async () => {
    const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "c2VhbGVk" };
    const { served, answer } = await here(
      [output(reasoning, call("c_1", "f", { k: 1 }), call("c_2", "f", { k: 2 })), { text: "4" }],
      {
        tools: [counted("f").tool],
      },
    );
    expect([answer, served.refusals]).toEqual(["4", []]);
    expect(inputOf(served, 1).map(({ type, role, call_id }) => [type ?? role, call_id])).toEqual([
      ["user", undefined],
      ["reasoning", undefined],
      ["function_call", "c_1"],
      ["function_call", "c_2"],
      ["function_call_output", "c_1"],
      ["function_call_output", "c_2"],
    ]);
    expect(inputOf(served, 1)[1]).toEqual(reasoning);
  });

  test("R3: if the provider keeps the conversation, only new items are sent, with instructions and tools", async () => {
    const { served, answer } = await here(
      [output(call("c_1", "f", { k: 1 })), { text: "4" }],
      { tools: [counted("f").tool] },
      wireWith({ store: true }),
    );
    expect([answer, served.refusals]).toEqual(["4", []]);
    const second = served.asked[1]?.body;
    expect(second).toMatchObject({ store: true, previous_response_id: "resp_1" });
    expect(inputOf(served, 1)).toHaveLength(1);
    expect(second?.instructions).toBe(served.asked[0]?.body.instructions);
  });

  test("a hosted program is told of an array for a tool that streams, and gets it", async () => {
    const { served, answer } = await hosted(
      [output(program, call("call_1", "depot", { id: 1 }, caller)), output(programOutput("9"), message("9"))],
      { tools: [depots()] },
    );
    expect([answer, served.refusals]).toEqual(["9", []]);
    expect(inputOf(served, 1).at(-1)).toMatchObject({ call_id: "call_1", output: '[{"n":1},{"n":8}]' });
    expect(served.asked[0]?.body.tools).toMatchObject([
      {},
      {
        name: "depot",
        output_schema: { type: "array", items: { type: "object", properties: { n: { type: "number" } } } },
      },
    ]);
  });

  test.each([
    ["stored", true],
    ["sent each time", false],
  ])("R4 to R7: two pauses of one program, its output alone, and then the answer, %s", async (_, store) => {
    const { served, answer, transcript, calls } = await hosted(
      [
        output(program, ...[1, 2].map((id) => call(`call_${id}`, "depot", { id }, caller))),
        output(...[3, 4].map((id) => call(`call_${id}`, "depot", { id }, caller))),
        output(programOutput("24")),
        { text: "24" },
      ],
      {},
      wireWith({ store }),
    );
    expect([answer, served.refusals]).toEqual(["24", []]);
    if (store) expect(inputOf(served, 3)).toEqual([]);
    else expect(inputOf(served, 1).find(({ type }) => type === "program")).toEqual(program);
    expect(inputOf(served, 1).slice(-2)).toEqual(
      [1, 2].map((id) => ({
        type: "function_call_output",
        call_id: `call_${id}`,
        output: `{"n":${id * 8}}`,
        caller,
      })),
    );
    expect(calls.map((one) => one.caller)).toEqual(Array(4).fill("programmatic"));
    expect(served.asked[0]?.body.tools).toMatchObject([
      { type: "programmatic_tool_calling" },
      { type: "function", name: "depot", allowed_callers: ["programmatic"] },
    ]);
    expect(JSON.stringify(transcript)).not.toContain("v1:");
    expect(transcript.turns.flatMap(({ turn }) => turn.hosted)).toEqual([
      { type: "hosted_program_started", program: "call_p", source: "text(1)" },
      { type: "hosted_program_ended", program: "call_p", output: "24", isError: false },
    ]);
  });

  test("R6: text before a program is not the answer, which follows the program's output", async () => {
    const { answer, served } = await hosted([output(message("I run it."), program, programOutput("8")), { text: "8" }]);
    expect([answer, served.refusals]).toEqual(["8", []]);
  });

  test("a call by an unknown caller is refused, and the caller is sent back unchanged", async () => {
    const f = counted("f", { allowedCallers: ["direct", "programmatic"] });
    const odd = { type: "agent_20270101", caller_id: "a_1" };
    const { served, answer } = await hosted([output(call("c_1", "f", { k: 1 }, odd)), { text: "4" }], {
      tools: [f.tool],
    });
    expect([answer, served.refusals, f.inputs]).toEqual(["4", [], []]);
  });

  test("R9: no call of a response with an incomplete call is made", async () => {
    const f = counted("f");
    for (const status of ["in_progress", "incomplete"]) {
      const cutOff = { ...output({ ...call("c_1", "f", { k: 1 }), status }), end: "cut_off" } as const;
      const { ending } = await here([cutOff, cutOff], { tools: [f.tool] });
      expect([ending.type, f.inputs]).toEqual(["cut_off", []]);
    }
  });

  test("R11: a call in a namespace is that namespace's tool", async () => {
    const [inner, outer] = [counted("crm.list"), counted("list")];
    await here([output({ ...call("c_1", "list", { k: 1 }), namespace: "crm" }), { text: "4" }], {
      tools: [inner.tool, outer.tool],
    });
    expect([inner.inputs, outer.inputs]).toEqual([[{ k: 1 }], []]);
  });

  test("R12: a program is sent as plain text, and answered as plain text", async () => {
    const source = 'return "a\\"b" + `\n` + 1';
    const { served, transcript } = await here([{ calls: [{ id: "c_1", program: source }] }, { text: "4" }], {
      programs: "local",
    });
    expect(served.asked[0]?.body.tools).toMatchObject([
      { type: "custom", name: "run_program", format: { type: "text" } },
    ]);
    expect(transcript.turns[0]?.turn.calls).toEqual([{ type: "program_call", id: "c_1", source }]);
    expect(inputOf(served, 1).at(-1)).toMatchObject({ type: "custom_tool_call_output", call_id: "c_1" });
  });

  test("R15: a strict function requires its optional fields or null, and its handler gets them as they were", async () => {
    const f = counted("f", {
      inputSchema: z.object({
        k: z.number(),
        note: z.string().optional(),
        deep: z.object({ a: z.number().optional() }).optional(),
      }),
    });
    const { served, answer } = await here(
      [output(call("c_1", "f", { k: 1, note: null, deep: { a: null } })), { text: "4" }],
      { tools: [f.tool] },
      wireWith({ strict: true }),
    );
    expect([answer, served.refusals]).toEqual(["4", []]);
    expect(f.inputs).toEqual([{ k: 1, deep: {} }]);
    expect(served.asked[0]?.body.tools).toMatchObject([
      { strict: true, parameters: { required: ["k", "note", "deep"], additionalProperties: false } },
    ]);
  });

  test("a response that failed is a failure, with the provider's words", async () => {
    const { ending } = await here([
      { raw: { status: "failed", error: { code: "server_error", message: "Sorry." }, output: [] } },
    ]);
    expect(ending).toMatchObject({
      type: "provider_failed",
      failure: { code: "server_failed", message: expect.stringContaining("Sorry.") },
    });
  });

  test("a hosted program that fails is reported as failed", async () => {
    const { transcript } = await hosted([output(program, programOutput("timeout", "incomplete"), message("No."))]);
    expect(transcript.turns[0]?.turn.hosted.at(-1)).toMatchObject({ output: "timeout", isError: true });
  });
});

/** The items of a streamed reply, whose last event lists these. */
function itemsOf(events: readonly object[], output: readonly object[] = []): unknown {
  const stream = new ResponsesStream(UNSHOWN);
  const completed = { type: "response.completed", response: { status: "completed", output } };
  for (const event of [...events, completed]) stream.take({ output_index: 0, ...event });
  return stream.reply?.items;
}
const added = (item: object) => ({ type: "response.output_item.added", item });
const done = (item: object) => ({ type: "response.output_item.done", item });

test("a reply is what its last event lists, if its items have one place or were not all told", () => {
  const [first, second] = [call("c_1", "f", { k: 1 }), call("c_2", "f", { k: 2 })];
  for (const told of [[first], [first, second]])
    expect(itemsOf(told.map(done), [first, second])).toEqual([first, second]);
  expect(itemsOf([done(first)])).toEqual([first]);
  expect(() => itemsOf([first, second].map(done))).toThrow("place 0");
});

test.each([
  ["arguments", "function_call", "response.function_call_arguments", "{}"],
  ["input", "custom_tool_call", "response.custom_tool_call_input", ""],
] as const)("the %s of a call are those that came in pieces, or at once, where its item says nothing", (...of) => {
  const [field, type, events, nothing] = of;
  const item = { type, call_id: "c", name: "f" };
  const pieces = ['{"k"', ":1}"].map((delta) => ({ type: `${events}.delta`, delta }));
  for (const [given, kept] of [
    ["", '{"k":1}'],
    [null, '{"k":1}'],
    ['{"k":2}', '{"k":2}'],
  ])
    expect(itemsOf([...pieces, done({ ...item, [field]: given })])).toEqual([{ ...item, [field]: kept }]);
  const whole = { type: `${events}.done`, [field]: '{"k":1}' };
  const told = itemsOf([added({ ...item, [field]: "" }), whole, done({ ...item, [field]: nothing })]);
  expect(told).toEqual([{ ...item, [field]: '{"k":1}' }]);
});

test("a reply with an item that is added and never done is incomplete", () => {
  expect(itemsOf([added(call("c_1", "f", { k: 1 }))])).toBeUndefined();
});

test.each<[Partial<OpenAiOptions>, RegExp]>([
  [{ apiKey: "" }, /OPENAI_API_KEY.*apiKey/],
  [{ model: "" }, /^openai\(\{ model \}\): expected the model's name, got ""\./],
  [{ baseUrl: "file:///x" }, /^openai\(\{ baseUrl \}\): expected an origin/],
  [{ fetch: "proxy" as never }, /^openai\(\{ fetch \}\): expected a function like fetch, got "proxy"\./],
  [{ apiKey: "sk-1\nhunter2" }, /check OPENAI_API_KEY/],
  [{ store: "yes" as never }, /^openai\(\{ store \}\): expected true or false, got "yes"\./],
  [{ baseUrl: "https://user:hunter2@example.com/v1" }, /^openai\(\{ baseUrl \}\): the URL contains a user name or a p/],
])("an option that is wrong is refused by its name, and no secret is in the message: %j", (options, message) => {
  const make = () => openai({ model: "gpt-test", apiKey: "k", ...options });
  expect(make).toThrow(message);
  expect(make).not.toThrow("hunter2");
});

test("what is no model is refused", async () => {
  await using runtime = await runtimeWith([]);
  await expect(runtime.agent({ model: {} as never, task: "x" })).rejects.toThrow("agent({ model }): expected a model");
});
