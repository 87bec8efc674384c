import { describe, expect, test } from "vitest";
import { chatWire } from "./openai-chat-wire.ts";
import { ask, type Asking, behavesAsModel, counted } from "./provider.suite.ts";
import { serve, type Served, type Wire, type WireStep } from "./wire.ts";

behavesAsModel("OpenAI Chat Completions", chatWire);

/** A server that keeps to few of the rules: what it sends is not what it takes back. */
const sloppyWire: Wire = { ...chatWire, refuse: () => undefined };

async function run(script: readonly WireStep[], asking: Asking = {}, wire = chatWire) {
  await using served = await serve(wire, script);
  const report = await ask(served, asking);
  return { ...report, served };
}
const messagesOf = ({ asked }: Served, request: number) =>
  (asked[request]?.body.messages ?? []) as Record<string, unknown>[];
const fragment = (changes: object, text: string, name?: string) => ({
  tool_calls: [
    { type: "function", ...changes, function: { ...(name === undefined ? {} : { name }), arguments: text } },
  ],
});

test("C1, C2: fragments of two calls by turns are two calls, by the ids of their first fragments", async () => {
  const [f, g] = [counted("f"), counted("g")];
  const deltas = [
    fragment({ index: 0, id: "call_a" }, "", "f"),
    fragment({ index: 1, id: "call_b" }, '{"k"', "g"),
    fragment({ index: 0, id: "" }, '{"k":'),
    fragment({ index: 1, id: "" }, ":2}"),
    fragment({ index: 0, id: "" }, "1}"),
  ];
  const { answer, served } = await run([{ raw: { deltas } }, { text: "4" }], { tools: [f.tool, g.tool] }, sloppyWire);
  expect([answer, f.inputs, g.inputs]).toEqual(["4", [{ k: 1 }], [{ k: 2 }]]);
  expect(
    messagesOf(served, 1)
      .slice(-2)
      .map(({ tool_call_id }) => tool_call_id),
  ).toEqual(["call_a", "call_b"]);
});

describe.each([
  ["streamed", true],
  ["in one piece", false],
])("OpenAI Chat Completions, %s", (_, stream) => {
  const here = (script: readonly WireStep[], asking: Asking = {}, wire?: Wire) =>
    run(script, { stream, ...asking }, wire);

  test("C3: calls are made though the server says that it has stopped", async () => {
    const f = counted("f");
    const message = {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_a", type: "function", function: { name: "f", arguments: '{"k":1}' } }],
    };
    const { answer } = await here([{ raw: { message, finish_reason: "stop" } }, { text: "4" }], { tools: [f.tool] });
    expect([answer, f.inputs]).toEqual(["4", [{ k: 1 }]]);
  });

  test("C4: of two calls with one id each is made once, and answered by that id", async () => {
    const f = counted("f");
    const calls = [1, 2].map((k) => ({ id: "call_a", tool: "f", input: { k } }));
    const { answer, served, calls: lines } = await here([{ calls }, { text: "4" }], { tools: [f.tool] });
    expect([answer, f.inputs, served.refusals]).toEqual(["4", [{ k: 1 }, { k: 2 }], []]);
    expect(lines.map(({ callId }) => callId)).toEqual(["call_a", "call_a-2"]);
    expect(
      messagesOf(served, 1)
        .slice(-2)
        .map(({ tool_call_id }) => tool_call_id),
    ).toEqual(["call_a", "call_a"]);
  });

  test("C6: what a vendor adds to a call, or to a message, goes back as it came", async () => {
    const message = {
      role: "assistant",
      content: null,
      reasoning_content: "Hm.",
      tool_calls: [
        {
          id: "call_a",
          type: "function",
          function: { name: "f", arguments: '{"k":1}' },
          extra_content: { google: { thought_signature: "c2ln" } },
        },
      ],
    };
    const { answer, served } = await here([{ raw: { message } }, { text: "4" }], { tools: [counted("f").tool] });
    expect([answer, served.refusals]).toEqual(["4", []]);
    expect(messagesOf(served, 1)[2]).toEqual(message);
  });

  test("words in parts are words, and go back in parts", async () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
      { type: "text", text: "Four." },
    ];
    const message = {
      role: "assistant",
      content,
      tool_calls: [{ id: "call_a", type: "function", function: { name: "f", arguments: '{"k":1}' } }],
    };
    const { answer, transcript, served } = await run(
      [{ raw: { message } }, { text: "4" }],
      { tools: [counted("f").tool], stream: false },
      chatWire,
    );
    expect([answer, served.refusals, transcript.turns[0]?.turn.text]).toEqual(["4", [], "Four."]);
    expect(messagesOf(served, 1)[2]).toEqual(message);
  });

  test("a call without an id gets one, and its answer the same", async () => {
    const message = {
      role: "assistant",
      content: null,
      tool_calls: [{ type: "function", function: { name: "f", arguments: '{"k":1}' } }],
    };
    const { answer, served } = await here(
      [{ raw: { message } }, { text: "4" }],
      { tools: [counted("f").tool] },
      sloppyWire,
    );
    expect(answer).toBe("4");
    const [said, result] = messagesOf(served, 1).slice(-2) as [
      { tool_calls: { id: string }[] },
      { tool_call_id: string },
    ];
    expect(result.tool_call_id).toBe(said.tool_calls[0]?.id);
  });

  test("a program is handed over as one string in JSON", async () => {
    const { transcript, served } = await here([{ calls: [{ id: "c", program: 'return "a"' }] }, { text: "4" }], {
      programs: "local",
    });
    expect(transcript.turns[0]?.turn.calls).toEqual([{ type: "program_call", id: "c", source: 'return "a"' }]);
    expect(served.asked[0]?.body.tools).toMatchObject([
      { function: { name: "run_program", parameters: { required: ["code"] } } },
    ]);
  });
});

test("a stream is asked to say what it cost, which it does not by itself", async () => {
  const { served } = await run([{ text: "4" }]);
  expect(served.asked[0]?.body.stream_options).toEqual({ include_usage: true });
});

test("C5: fragments without an index are one call for each id", async () => {
  const [f, g] = [counted("f"), counted("g")];
  const deltas = [
    fragment({ id: "call_a" }, '{"k"', "f"),
    fragment({}, ":1}"),
    fragment({ id: "call_b" }, '{"k":2}', "g"),
  ];
  const { answer } = await run([{ raw: { deltas } }, { text: "4" }], { tools: [f.tool, g.tool] }, sloppyWire);
  expect([answer, f.inputs, g.inputs]).toEqual(["4", [{ k: 1 }], [{ k: 2 }]]);
});

test("programs of the provider cannot be asked for, because it has none that call tools", async () => {
  await using served = await serve(chatWire, []);
  await expect(ask(served, { programs: "hosted" })).rejects.toThrow(
    'programs: expected "local" or "none", for openai-chat:gpt-test',
  );
});
