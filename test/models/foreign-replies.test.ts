import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { makeTool, runs, runtimeWith } from "../support/index.ts";
import { eventText } from "./loopback.ts";
import { type Fields, MODES, modelOfBodies, sse, type Wire, type WireTurn, written } from "./wire.ts";
import { EACH_WAY, WIRES, anthropicWire, chatWire, geminiWire, responsesWire } from "./wires.ts";

/*
 * What compatible servers and proxies send, and no vendor documents: each is read as it is meant, or told in the server's
 * words. Every kind is held for all protocols that can have it.
 */

type Body = string | Response;

/** A conversation with a server that gives these bodies, the last one again and again. */
async function converse(wire: Wire, stream: boolean, bodies: readonly Body[]) {
  const made: unknown[] = [];
  const asked: Fields[] = [];
  const warnings: string[] = [];
  const about = { allowedCallers: ["direct"], effect: "write" } as const;
  const inputSchema = z.object({ k: z.unknown().optional() });
  const tools = ["f", "get_weather"].map((name) =>
    makeTool({ ...about, name, inputSchema, execute: (input) => made.push([name, input]) }),
  );
  const model = modelOfBodies(wire, stream, bodies, (body) => asked.push(body));
  const logger = { error: () => {}, warn: (_: unknown, message: string) => void warnings.push(message) };
  await using runtime = await runtimeWith(tools, { logger });
  const { ending, answer, transcript, usage } = await runtime.agent({
    model,
    task: "Do it.",
    programs: "none",
    loop: { maxTurns: 9 },
  });
  const unread = transcript.turns.map(({ turn }) => turn.unreadParts);
  return { ending, answer, made, asked, unread, warnings, usage };
}

const DONE: WireTurn = { text: "Done." };
/** A conversation with a server that gives this body, and is done then. */
const thenDone = (wire: Wire, stream: boolean, body: Body) =>
  converse(wire, stream, [body, written(wire, DONE, stream)]);
/** A stream of these events. */
const sent = (events: readonly object[]) => sse(events.map((data) => ({ data: JSON.stringify(data) })));
const CALL: WireTurn = { calls: [{ id: "c", tool: "f", input: { k: 1 } }] };

// ---- words for the end of a turn -------------------------------------------------------------------------------

const REASON_FIELDS: ReadonlyMap<Wire, string> = new Map([
  [anthropicWire, "stop_reason"],
  [chatWire, "finish_reason"],
  [geminiWire, "finishReason"],
]);
const STATUS_FIELDS: ReadonlyMap<Wire, string> = new Map([[responsesWire, "status"]]);
/** C3: a reply whose finish reason is `stop` may have calls. */
const WHOLE = ["stop", "end", "eos_token", "TOOL_CALLS"];

test.each(EACH_WAY)("any word may end a whole turn of %s", async (_, wire, stream) => {
  const field = REASON_FIELDS.get(wire);
  // The protocols with a status name it in the kind of the last event too.
  const [name, words] =
    field === undefined ? [STATUS_FIELDS.get(wire) ?? "", ["complete", "succeeded"]] : [field, WHOLE];
  for (const word of field === undefined && stream ? [] : words) {
    const raw = { [name]: word };
    const { answer, made } = await converse(wire, stream, [
      written(wire, { ...CALL, raw }, stream),
      written(wire, { ...DONE, raw }, stream),
    ]);
    expect([word, answer, made]).toEqual([word, "Done.", [["f", { k: 1 }]]]);
  }
});

test.each(EACH_WAY)("a word for a limit or a fault ends no whole turn of %s", async (_, wire, stream) => {
  const name = REASON_FIELDS.get(wire);
  const words = ["model_length", "MAX_OUTPUT", "error", `error${"x".repeat(1000)}`];
  for (const word of name === undefined ? [] : words) {
    const { ending, made } = await converse(wire, stream, [
      written(wire, { ...CALL, raw: { [name ?? ""]: word } }, stream),
    ]);
    expect([ending, made]).toEqual([{ type: "cut_off", reason: word.slice(0, 100) }, []]);
  }
});

// ---- inputs of calls -------------------------------------------------------------------------------------------

test.each([
  [anthropicWire, false],
  [geminiWire, false],
  [geminiWire, true],
] as const)(
  "a number that no double holds is no other number in the call that is made, case %#",
  async (wire, stream) => {
    const digits = "1234567890123456789";
    const call = written(wire, { calls: [{ id: "c", tool: "f", input: { k: "BIG" } }] }, stream);
    const { made, asked } = await thenDone(wire, stream, call.replace('"BIG"', digits));
    expect(made).toEqual([["f", { k: digits }]]);
    expect(JSON.stringify(asked.at(-1))).toContain(digits);
  },
);

/** Calls as a whole reply has them in protocols whose inputs are objects. */
const CALLS_OF_OBJECTS = new Map<Wire, (input: unknown) => Fields>([
  [anthropicWire, (input: unknown) => ({ content: [{ type: "tool_use", id: "c", name: "f", input }] })],
  [geminiWire, (args: unknown) => ({ parts: [{ functionCall: { id: "c", name: "f", args } }] })],
]);

function replyThatCalls(wire: Wire, stream: boolean, inputText: string): string {
  const raw = CALLS_OF_OBJECTS.get(wire);
  if (!raw || (stream && wire !== geminiWire))
    return written(wire, { calls: [{ id: "c", tool: "f", inputText }] }, stream);
  const isJson = inputText === "null" || inputText.startsWith("[");
  return written(wire, { raw: raw(isJson ? JSON.parse(inputText) : inputText.trim()) }, stream);
}

/** The inputs of the calls of `f` that a request sends back. */
function inputsIn(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  const { name, arguments: text, input = text, args = input } = value as Record<string, unknown>;
  const inside = Object.values(value).flatMap(inputsIn);
  if (name !== "f" || args === undefined) return inside;
  return [typeof args === "string" ? (JSON.parse(args) as unknown) : args, ...inside];
}

test.each(EACH_WAY)("an input that says nothing is the empty one: %s", async (_, wire, stream) => {
  for (const text of ["", "null", " \n", "[]"]) {
    const { answer, made, asked } = await thenDone(wire, stream, replyThatCalls(wire, stream, text));
    expect([text, answer, made, inputsIn(asked[1])]).toEqual([text, "Done.", [["f", {}]], [{}]]);
  }
});

test.each(EACH_WAY)("an input that is no object is not made, and goes back in one: %s", async (...given) => {
  const [, wire, stream] = given;
  for (const text of ['{"k":1,}', '{"k":"a\nb"}', '{"k":', '["k"]']) {
    const { answer, made, asked } = await thenDone(wire, stream, replyThatCalls(wire, stream, text));
    expect([text, answer, made, inputsIn(asked[1])]).toEqual([text, "Done.", [], [{ unreadable_input: text }]]);
  }
});

test.each(MODES)("arguments of a completion that are an object are those of the call, %s", async (_how, stream) => {
  const given = { k: { list: [1, "\u2028"], none: null } };
  const call = { index: 0, id: "c", type: "function", function: { name: "f", arguments: given } };
  const message = { role: "assistant", content: null, tool_calls: [call] };
  const calls = written(chatWire, { raw: stream ? { deltas: [message] } : { message } }, stream);
  const { answer, made, asked } = await thenDone(chatWire, stream, calls);
  expect([answer, made, inputsIn(asked[1])]).toEqual(["Done.", [["f", given]], [given]]);
});

test("an object among pieces of arguments makes no call", async () => {
  const pieces = [{ k: 1 }, '{"k":2}', { k: 3 }];
  for (const [first, second] of [pieces.slice(0, 2), pieces.slice(1), [pieces[0], pieces[2]]]) {
    const [begun, more] = [{ name: "f", arguments: first }, { arguments: second }].map((made) => ({
      tool_calls: [{ index: 0, ...(made.name && { id: "c", type: "function" }), function: made }],
    }));
    const calls = written(chatWire, { raw: { deltas: [begun, more] } }, true);
    const { answer, made } = await thenDone(chatWire, true, calls);
    expect([answer, made]).toEqual(["Done.", []]);
  }
});

// ---- parts of other kinds --------------------------------------------------------------------------------------

const textPart = { type: "text", text: "Done." };
const outputText = { type: "output_text", text: "Done.", annotations: [] };

/** Where the parts of a reply are, and what the words of one are in. */
const PARTS: ReadonlyMap<Wire, readonly [field: string, words: Fields]> = new Map([
  [anthropicWire, ["content", textPart]],
  [responsesWire, ["output", { type: "message", role: "assistant", status: "completed", content: [outputText] }]],
]);

const withParts = EACH_WAY.filter(([, wire]) => PARTS.has(wire));

test.each(withParts)("parts of other kinds are told by their names, and end nothing: %s", async (...given) => {
  const [, wire, stream] = given;
  const [field, words] = PARTS.get(wire) ?? ["", {}];
  for (const kind of ["quantum_search_call", "mcp_approval_request", "hologram", "<b>\n"]) {
    const odd = { type: kind, id: "odd_1", status: "in_progress", deep: [1, null] };
    const whole = await converse(wire, stream, [written(wire, { raw: { [field]: [odd, odd, words] } }, stream)]);
    const name = kind.startsWith("<") ? "without a name" : kind;
    const said = expect.stringMatching(new RegExp(`^A reply of .* are not read, .*: ${name}\\.$`)) as string;
    expect([whole.answer, whole.unread, whole.warnings]).toEqual(["Done.", [[name]], [said]]);
  }
});

test.each(MODES)(
  "a part of Gemini or of a completion of another kind is told, the others are read: %s",
  async (...given) => {
    const [, stream] = given;
    const parts = [{ quantumSearch: { q: 1 } }, { text: "Done." }];
    const { answer, unread } = await converse(geminiWire, stream, [written(geminiWire, { raw: { parts } }, stream)]);
    expect([answer, unread]).toEqual(["Done.", [["quantumSearch"]]]);
    const called = { index: 0, id: "c", type: "function", function: { name: "f", arguments: '{"k":1}' } };
    const odd = { index: 1, id: "m", type: "mcp_approval_request", mcp: { name: "x" } };
    for (const tool_calls of [[called, odd], [{ ...odd, index: 0 }]]) {
      const message = { role: "assistant", content: null, tool_calls };
      const reply = written(chatWire, { raw: stream ? { deltas: [message] } : { message } }, stream);
      const talked = await thenDone(chatWire, stream, reply);
      expect(talked).toMatchObject({ answer: "Done.", made: { length: tool_calls.length - 1 } });
      expect(talked.unread[0]).toEqual(["mcp_approval_request"]);
      expect(JSON.stringify(talked.asked.at(-1))).not.toContain("mcp_approval_request");
    }
  },
);

test.each(withParts)("a turn that has nothing but such a part goes on: %s", async (...given) => {
  const [, wire, stream] = given;
  const [field] = PARTS.get(wire) ?? [""];
  const raw = {
    [field]: [{ type: "hologram", id: "odd_1" }],
    ...(wire === anthropicWire && { stop_reason: "tool_use" }),
  };
  const { answer, unread, warnings, asked } = await thenDone(wire, stream, written(wire, { raw }, stream));
  expect([answer, unread, warnings.length, asked.length]).toEqual(["Done.", [["hologram"], undefined], 1, 2]);
});

test("a piece of an answer that is a number or a truth value is its text", async () => {
  const pieces = ["It costs $", 0, ".", 5, ": ", true];
  const place = { index: 0 };
  const deltas = pieces.map((text) => ({
    type: "content_block_delta",
    ...place,
    delta: { type: "text_delta", text },
  }));
  const blocks = [
    { type: "message_start", message: {} },
    { type: "content_block_start", ...place, content_block: { type: "text", text: "" } },
    ...deltas,
    { type: "content_block_stop", ...place },
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  ];
  const chat = chatWire.events({ raw: { deltas: pieces.map((content) => ({ content })) } }, 1);
  for (const [wire, events] of [
    [anthropicWire, sent(blocks)],
    [chatWire, sse(chat)],
  ] as const)
    expect((await converse(wire, true, [events])).answer).toBe("It costs $0.5: true");
});

test("no text of an answer is lost where lists of parts stand between its pieces", async () => {
  const thought = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
  const source = { type: "reference", reference_ids: [1] };
  const pieces = [
    [thought("a")],
    [thought("b")],
    "",
    [thought("c")],
    "It ",
    "costs ",
    [source],
    "5",
    [{ type: "text", text: " dollars" }],
  ];
  const made = { tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "{}" } }] };
  const turn = (contents: readonly unknown[], ...more: readonly object[]) =>
    sse(chatWire.events({ raw: { deltas: [...contents.map((content) => ({ content })), ...more] } }, 1));
  const bodies = [turn(pieces, made), turn(["All ", [source], "said"])];
  const { asked, answer } = await converse(chatWire, true, bodies);
  const history = asked.at(-1)?.["messages"] as readonly Fields[];
  expect(history.find(({ role }) => role === "assistant")?.["content"]).toEqual([
    { type: "thinking", thinking: ["a", "b", "c"].map((text) => ({ type: "text", text })) },
    { type: "text", text: "It costs " },
    source,
    { type: "text", text: "5 dollars" },
  ]);
  expect(answer).toBe("All said");
});

// ---- what a reply used -----------------------------------------------------------------------------------------

const choice = { index: 0, delta: { content: "Done." }, finish_reason: "stop" };
const chatUsage = { prompt_tokens: 10, completion_tokens: 5 };
const words = { type: "text", text: "Done." };
const endsWithUsage = (usage: Fields): readonly [Wire, readonly Fields[]] => [
  anthropicWire,
  [
    { type: "message_start", message: { usage: { input_tokens: 10, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: words },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
    { type: "message_stop" },
  ],
];
const USAGES: Readonly<Record<string, readonly [Wire, readonly Fields[], outputTokens?: number]>> = {
  "the usage of a choice, as Moonshot sends it": [chatWire, [{ choices: [{ ...choice, usage: chatUsage }] }]],
  "a usage in the place that Groq has for it": [chatWire, [{ choices: [choice], x_groq: { usage: chatUsage } }]],
  "a usage with each piece once, and not zeros at the end": [
    chatWire,
    [
      { choices: [choice], usage: { prompt_tokens: 10, completion_tokens: 1 } },
      { choices: [], usage: chatUsage },
      { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } },
    ],
  ],
  "reasoning that the total alone has, as at xAI": [
    chatWire,
    [{ choices: [choice], usage: { ...chatUsage, total_tokens: 109 } }],
    99,
  ],
  "the input of the start, and not 0 at the end": endsWithUsage({ input_tokens: 0, output_tokens: 5 }),
  "no input twice that is called cached only at the end": endsWithUsage({
    input_tokens: 1,
    cache_read_input_tokens: 9,
    output_tokens: 5,
  }),
  "the input of an earlier piece": [
    geminiWire,
    [
      { candidates: [{ content: { parts: [words] } }], usageMetadata: { promptTokenCount: 10 } },
      { candidates: [{ finishReason: "STOP" }], usageMetadata: { candidatesTokenCount: 5 } },
    ],
  ],
};

test.each(Object.entries(USAGES))("a budget counts %s", async (_name, [wire, events, outputTokens = 5]) => {
  const { answer, usage } = await converse(wire, true, [sent(events)]);
  expect([answer, usage.inputTokens, usage.outputTokens]).toEqual(["Done.", 10, outputTokens]);
});

test.each([
  [chatWire, { choices: [{ ...choice, finish_reason: null }], usage: chatUsage }],
  [
    responsesWire,
    {
      type: "response.in_progress",
      response: { status: "in_progress", usage: { input_tokens: 10, output_tokens: 5 } },
    },
  ],
] as const)("what a reply had used before it broke off is counted, case %#", async (wire, event) => {
  const { ending, usage } = await converse(wire, true, [sent([event])]);
  expect([ending.type, usage.inputTokens, usage.outputTokens]).toEqual(["provider_failed", 10, 5]);
});

test.each([
  { prompt_tokens_details: { cached_tokens: 9 } },
  { prompt_cache_hit_tokens: 9, prompt_cache_miss_tokens: 1 },
  { cached_tokens: 9, prompt_tokens_details: null },
  { cache_read_input_tokens: 9 },
])("the cached part of the input is counted where a server says it: %j", async (said) => {
  const events = [{ choices: [choice], usage: { ...chatUsage, ...said } }];
  const { usage } = await converse(chatWire, true, [sent(events)]);
  expect([usage.inputTokens, usage.cachedInputTokens]).toEqual([10, 9]);
});

// ---- bodies ----------------------------------------------------------------------------------------------------

const typed = (body: string, type: string) => new Response(body, { headers: { "content-type": type } });

const KEEP_ALIVES = [
  "data: \n\n",
  "data:\n\n",
  "event: ping\n\n",
  "retry: 3000\n\n",
  ": comment\n\n",
  "event: ping\ndata: 2026-01-01T00:00:00Z\n\n",
  "data: : OPENROUTER PROCESSING\n\n",
  "event: keep-alive\ndata: still here\n\n",
];

test.each(EACH_WAY)("a reply is read in every form, whichever was asked for: %s", async (...given) => {
  const [, wire, stream] = given;
  const document = written(wire, DONE, false);
  const events = wire.events(DONE, 1);
  const bodies = {
    document: typed(document, "application/json"),
    "a document without its type": typed(`\uFEFF\n ${document}`, "text/plain"),
    "a document that ends like a stream": typed(`${document}\n\ndata: [DONE]\n\n`, "text/event-stream"),
    stream: typed(sse(events), "text/event-stream"),
    "a stream without its type": typed(sse(events), "application/json"),
    "a stream with keep-alives": typed(
      KEEP_ALIVES.join("") + events.map((event, n) => sse([event]) + (KEEP_ALIVES[n] ?? "")).join(""),
      "text/event-stream",
    ),
  };
  for (const [form, body] of Object.entries(bodies)) {
    const { answer, ending } = await converse(wire, stream, [body]);
    expect([form, answer, ending.type]).toEqual([form, "Done.", "answered"]);
  }
});

const PAGE = "<!doctype html><html><head><title>Sign in</title><style>a{}</style></head><body>Welcome</body></html>";

test.each(EACH_WAY)("what is no reply is told in its own words: %s", async (_, wire, stream) => {
  const error = JSON.stringify({ error: { message: "Insufficient credits", code: 402 } });
  const [json, events] = ["application/json", "text/event-stream"];
  const bodies: readonly (readonly [body: string, type: string, code: string, words: string, more?: object])[] = [
    [error, json, "request_refused", "Insufficient credits", { status: 402 }],
    [`data: ${error}\n\n`, events, "request_refused", "Insufficient credits"],
    ['{"error":"No such model"}', json, "server_failed", "No such model"],
    ["event: error\ndata: upstream died\n\n", events, "server_failed", "upstream died"],
    ['{"detail":"Not Found"}', json, "reply_invalid", "Not Found"],
    [PAGE, "text/html", "reply_invalid", "Status 200, text/html: Sign in"],
    ["no healthy upstream", "text/plain", "reply_invalid", "no healthy upstream"],
  ];
  for (const [body, type, code, words, more] of bodies) {
    const { ending } = await converse(wire, stream, [typed(body, type)]);
    const message = expect.stringMatching(new RegExp(`${words}${body === PAGE ? "$" : ""}`)) as string;
    const failure = expect.objectContaining({ code, message, ...more }) as unknown;
    expect([body, ending]).toEqual([body, { type: "provider_failed", failure }]);
  }
});

test("an error of the choice of a completion is told in its words", async () => {
  const failed = { finish_reason: "error", error: { code: 502, message: "Provider returned error" } };
  for (const choice of [
    { ...failed, message: { role: "assistant", content: "" } },
    { ...failed, delta: { content: "" } },
  ]) {
    const body = JSON.stringify({ choices: [choice] });
    const { ending } = await converse(chatWire, "delta" in choice, ["delta" in choice ? `data: ${body}\n\n` : body]);
    const message = expect.stringContaining("Provider returned error") as unknown;
    expect(ending).toMatchObject({ type: "provider_failed", failure: { code: "server_failed", message } });
  }
});

test.each(EACH_WAY)("a turn with nothing in it is asked for once more, and then told: %s", async (...given) => {
  const [, wire, stream] = given;
  for (const empty of [{}, { text: " \n" }]) {
    const nothing = written(wire, empty, stream);
    const once = await thenDone(wire, stream, nothing);
    expect([once.answer, once.asked.length]).toEqual(["Done.", 2]);
    expect(JSON.stringify(once.asked[1])).toContain("it is empty");
    const { ending, asked } = await converse(wire, stream, [nothing]);
    expect([ending, asked.length]).toEqual([
      { type: "provider_failed", failure: expect.objectContaining({ code: "reply_invalid" }) as unknown },
      2,
    ]);
  }
});

const WRITTEN_CALLS = [
  '<tool_call>\n{"name": "get_weather", "arguments": {"k": 1}}\n</tool_call>',
  'I look.\n<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="k">1</parameter>\n</invoke>\n</minimax:tool_call>',
  "<function=get_weather>\n<parameter=k>\n1\n</parameter>\n</function>",
  '[TOOL_CALLS][{"name": "get_weather", "arguments": {}}]',
  "```tool_code\nprint(default_api.get_weather(k=1))\n```",
  '{"name": "get_weather", "parameters": {"k": 1}}',
  '```json\n{"name": "get_weather", "arguments": {}}\n```',
];
const ANSWERS = [
  'Write {"name": "get_weather", "arguments": {}}',
  '{"name": "Ann", "arguments": {}}',
  "<tool_call> is a mark, and get_weather a tool.",
  "<function=other>",
];

test.each(EACH_WAY)("a call that its server left in the text is no answer: %s", async (...given) => {
  const [, wire, stream] = given;
  for (const text of WRITTEN_CALLS) {
    const { answer, made, asked } = await thenDone(wire, stream, written(wire, { text }, stream));
    expect([text, answer, made, asked.length]).toEqual([text, "Done.", [], 2]);
    expect(JSON.stringify(asked[1])).toContain("it has a call in its text");
  }
  for (const text of ANSWERS) {
    const { answer, asked } = await converse(wire, stream, [written(wire, { text }, stream)]);
    expect([answer, asked.length]).toEqual([text, 1]);
  }
});

// ---- all of it at random ---------------------------------------------------------------------------------------

/** What becomes of a step: calls that are made, or how the conversation ends. */
interface Step {
  readonly body: Body;
  readonly made?: readonly unknown[];
  /** In the ending: whose fault it was, and in which words. */
  readonly fault?: { readonly code: string; readonly message: string };
  readonly isEmpty?: true;
}

const WAYS: Readonly<Record<string, (wire: Wire, stream: boolean) => Step | undefined>> = {
  "another word for the end": (wire, stream) => {
    const field = REASON_FIELDS.get(wire);
    return field
      ? { body: written(wire, { ...CALL, raw: { [field]: "eos" } }, stream), made: [["f", { k: 1 }]] }
      : undefined;
  },
  "keep-alives": (wire) => ({
    body: typed(KEEP_ALIVES.join("") + sse(wire.events(CALL, 1)) + KEEP_ALIVES.join(""), "text/event-stream"),
    made: [["f", { k: 1 }]],
  }),
  "the other form": (wire, stream) => ({
    body: typed(written(wire, CALL, !stream), "text/plain"),
    made: [["f", { k: 1 }]],
  }),
  "an input that says nothing": (wire, stream) => ({ body: replyThatCalls(wire, stream, "null"), made: [["f", {}]] }),
  "a broken input": (wire, stream) => ({ body: replyThatCalls(wire, stream, '{"k":') }),
  nothing: (wire, stream) => ({ body: written(wire, {}, stream), isEmpty: true }),
  "a page": () => ({ body: typed(PAGE, "text/html"), fault: { code: "reply_invalid", message: "Sign in" } }),
  "an error in a 200": () => ({
    body: typed('{"error":{"message":"No credits left","code":402}}', "application/json"),
    fault: { code: "request_refused", message: "No credits left" },
  }),
};

test("whatever servers get wrong, a conversation ends as its last step says, in the words of whose fault it was", async () => {
  const step = fc.constantFrom(...Object.keys(WAYS));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...EACH_WAY),
      // A fourth call of one kind would be one too many for the conversation.
      fc.array(step, { maxLength: 3 }),
      async ([, wire, stream], ways) => {
        const steps = ways.flatMap((way) => WAYS[way]?.(wire, stream) ?? []);
        // A message of the user is asked for once more after an empty turn.
        const [, second] = steps.filter(({ isEmpty }) => isEmpty);
        const last = steps.findIndex((one) => one.fault ?? one === second);
        const { fault = { code: "reply_invalid", message: "" } } = steps[last] ?? {};
        const { ending, made } = await converse(wire, stream, [
          ...steps.map(({ body }) => body),
          written(wire, DONE, stream),
        ]);
        expect(made).toEqual((last < 0 ? steps : steps.slice(0, last)).flatMap(({ made: calls = [] }) => calls));
        const message = expect.stringContaining(fault.message) as unknown;
        expect(ending).toMatchObject(
          last < 0 ? { type: "answered" } : { type: "provider_failed", failure: { code: fault.code, message } },
        );
      },
    ),
    { numRuns: runs(2000) },
  );
});

// ---- what is at another place, or in another form ----------------------------------------------------------------

test("pieces of a reply are read where each has the message so far beside it", async () => {
  const chunk = (content: string, sofar: string, finish_reason: string | null) => {
    const [message, delta] = [sofar, content].map((text) => ({ role: "assistant", content: text }));
    return { id: "a", object: "chat.completion.chunk", choices: [{ index: 0, message, delta, finish_reason }] };
  };
  const events = [chunk("I", "I", null), chunk(" am", "I am", "stop")];
  expect(await converse(chatWire, true, [sent(events)])).toMatchObject({
    ending: { type: "answered", answer: "I am" },
  });
});

test.each(WIRES)("a whole reply of %s is read where it is the only event of a stream", async (_name, wire) => {
  const only = (turn: WireTurn) => `data: ${JSON.stringify(wire.json(turn, 1))}\n\ndata: [done]\n\n`;
  const { answer, made } = await converse(wire, true, [only(CALL), only(DONE)]);
  expect([answer, made]).toEqual(["Done.", [["f", { k: 1 }]]]);
});

test.each(WIRES)("events of %s that say why there is no more are told in these words", async (_name, wire) => {
  const [first = ""] = wire.events(DONE, 1).map(eventText);
  const words = async (...events: readonly unknown[]) => {
    const { ending } = await converse(wire, true, [
      first + events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""),
    ]);
    return ending.type === "provider_failed" ? ending.failure.message : ending.type;
  };
  expect(await words({ detail: "Out of memory." })).toContain("Out of memory.");
  expect(await words({ success: false, message: "No such model." })).toContain("No such model.");
});

test("an error in a list of Gemini's events is told in its words", async () => {
  const { ending } = await converse(geminiWire, true, [
    JSON.stringify([{ error: { code: 429, message: "No quota." } }]),
  ]);
  expect(ending).toMatchObject({ failure: { code: "rate_limited", status: 429 } });
});

test.each([anthropicWire, geminiWire])(
  "an input that is the text of an object is that object, case %#",
  async (wire) => {
    const body = written(wire, { raw: CALLS_OF_OBJECTS.get(wire)?.('{"k":1}') ?? {} }, false);
    const { made } = await thenDone(wire, false, body);
    expect(made).toEqual([["f", { k: 1 }]]);
  },
);

test("arguments that are an object, and a content that is a text, are read in a response", async () => {
  const response = (item: object) =>
    JSON.stringify({ id: "r", object: "response", status: "completed", output: [item] });
  const call = { type: "function_call", call_id: "c", name: "f", arguments: { k: 1 } };
  const { answer, made, asked } = await converse(responsesWire, false, [
    response(call),
    response({ type: "message", role: "assistant", content: "Done." }),
  ]);
  expect([answer, made]).toEqual(["Done.", [["f", { k: 1 }]]]);
  expect(asked.at(-1)?.input).toContainEqual({ ...call, arguments: '{"k":1}' });
});

test.each([anthropicWire, chatWire, responsesWire])("a place may be a text, case %#", async (wire) => {
  const events = wire
    .events(CALL, 1)
    .map((event) => eventText(event).replaceAll(/(?<!"choices":\[\{)"((?:output_)?index)":(\d+)/g, '"$1":"$2"'));
  const { answer, made } = await thenDone(wire, true, events.join(""));
  expect([answer, made]).toEqual(["Done.", [["f", { k: 1 }]]]);
});
