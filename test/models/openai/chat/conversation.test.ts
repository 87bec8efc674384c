import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChatStream } from "../../../../src/models/openai/chat/reply.ts";
import { chatWire } from "./wire.ts";
import { UNSHOWN } from "../../converse.ts";
import { type Asking, behavesAsModel, counted, askOn } from "../../provider.suite.ts";
import { MODES, type Served, type Wire, type WireStep } from "../../wire.ts";
import { runs, testOfAll } from "../../../support/all-tests.ts";

behavesAsModel("OpenAI Chat Completions", chatWire);

/** A server that keeps to few of the rules: what it sends is not what it takes back. */
const sloppyWire: Wire = { ...chatWire, refuse: () => undefined };

const run = (script: readonly WireStep[], asking?: Asking, wire: Wire = chatWire) => askOn(wire, script, asking);
const messagesOf = ({ asked }: Served, request: number) =>
  (asked[request]?.body.messages ?? []) as Record<string, unknown>[];
/** A message of the model with a call of `f`, changed so. */
const calling = (changes: object = {}, id: object = { id: "call_a" }) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ ...id, type: "function", function: { name: "f", arguments: '{"k":1}' } }],
  ...changes,
});
/** A fragment of a call, of which what is undefined is left out. */
const part = (index: number | undefined, id: string | undefined, name: string | undefined, text: string) =>
  JSON.parse(JSON.stringify({ index, id, function: { name, arguments: text } })) as object;
const delta = (...given: Parameters<typeof part>) => ({ tool_calls: [part(...given)] });

test("C1, C2: alternating fragments of two calls are two calls, by the ids of their first fragments", async () => {
  const [f, g] = [counted("f"), counted("g")];
  const deltas = [
    delta(0, "call_a", "f", ""),
    delta(1, "call_b", "g", '{"k"'),
    delta(0, "", undefined, '{"k":'),
    delta(1, "", undefined, ":2}"),
    delta(0, "", undefined, "1}"),
  ];
  const { answer, served } = await run([{ raw: { deltas } }, { text: "4" }], { tools: [f.tool, g.tool] }, sloppyWire);
  expect([answer, f.inputs, g.inputs]).toEqual(["4", [{ k: 1 }], [{ k: 2 }]]);
  expect(
    messagesOf(served, 1)
      .slice(-2)
      .map(({ tool_call_id }) => tool_call_id),
  ).toEqual(["call_a", "call_b"]);
});

describe.each(MODES)("OpenAI Chat Completions, %s", (_, stream) => {
  const here = (script: readonly WireStep[], asking: Asking = {}, wire?: Wire) =>
    run(script, { stream, ...asking }, wire);

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

  test("text in parts is text, and is sent back in parts", async () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
      { type: "text", text: "Four." },
    ];
    const message = calling({ content });
    const { answer, transcript, served } = await run(
      [{ raw: { message } }, { text: "4" }],
      { tools: [counted("f").tool], stream: false },
      chatWire,
    );
    expect([answer, served.refusals, transcript.turns[0]?.turn.text]).toEqual(["4", [], "Four."]);
    expect(messagesOf(served, 1)[2]).toEqual(message);
  });

  test("a call without an id gets one, and its answer the same", async () => {
    const message = calling({}, {});
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

  test("a program is sent as one string in JSON", async () => {
    const { transcript, served } = await here([{ calls: [{ id: "c", program: 'return "a"' }] }, { text: "4" }], {
      programs: "local",
    });
    expect(transcript.turns[0]?.turn.calls).toEqual([{ type: "program_call", id: "c", source: 'return "a"' }]);
    expect(served.asked[0]?.body.tools).toMatchObject([
      { function: { name: "run_program", parameters: { required: ["code"] } } },
    ]);
  });
});

test("a request for a stream asks for its usage", async () => {
  const { served } = await run([{ text: "4" }]);
  expect(served.asked[0]?.body.stream_options).toEqual({ include_usage: true });
});

/** An input in pieces, the first of them empty. */
const PIECES = ["", '{"k":', "1}"];

/** The calls that are read from fragments; undefined where the reply is none. */
function callsFrom(fragments: readonly object[]): readonly [unknown, unknown][] | undefined {
  const stream = new ChatStream(UNSHOWN);
  try {
    for (const one of fragments) stream.take({ choices: [{ index: 0, delta: { tool_calls: [one] } }] });
    stream.take({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] });
    const calls = (stream.reply?.message.tool_calls ?? []) as { function: { name: string; arguments: string } }[];
    return calls.map(({ function: { name, arguments: text } }) => [name, text]);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

testOfAll("tens of thousands of calls at one index are read in linear time", () => {
  const count = 80_000;
  const fragments = Array.from({ length: count }, (_, place) => [
    part(0, `id-${place}`, "read", ""),
    part(0, `id-${place}`, undefined, "{}"),
  ]).flat();
  expect(callsFrom(fragments)).toHaveLength(count);
});

test.each<[string, readonly object[]]>([
  [
    "a part without an id, after two calls at its index",
    [part(0, "a", "read", ""), part(0, "b", "remove_all", ""), part(0, undefined, undefined, "{}")],
  ],
  ["another id without a name, at a known index", [part(0, "a", "read", ""), part(0, "b", undefined, "{}")]],
  [
    "a second name without an id, at a known index, after a part of the input",
    [part(0, "a", "read", "{"), part(0, "", "remove_all", "{}")],
  ],
  [
    "a second name under the same id, after a part of the input",
    [part(0, "a", "read", "{}"), part(0, "a", "remove_all", "{}")],
  ],
  [
    "a part without index and id, after two calls",
    [part(0, "a", "read", ""), part(1, "b", "remove_all", ""), part(undefined, undefined, undefined, "{}")],
  ],
  ["calls with an index and without", [part(undefined, "a", "read", ""), part(0, "b", "remove_all", "{}")]],
  ["a call without a name", [part(0, "a", undefined, "{}")]],
  [
    "an input of no name beside calls with an index each",
    [part(0, "a", "f", ""), part(1, undefined, undefined, '{"k":2}')],
  ],
  [
    "an input of no name at the place of a call that has one",
    [part(0, "a", "f", '{"k":1}'), part(0, "b", "f", '{"k":2}'), part(1, undefined, undefined, '{"k":3}')],
  ],
  ["an index that is no place", [{ ...part(undefined, "a", "read", "{}"), index: "first" }]],
])("what is ambiguous in a stream is no reply: %s", (_, fragments) => {
  expect(callsFrom(fragments)).toBeUndefined();
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const NAMED = [["get_weather", PIECES.join("")]];
test.each<[string, readonly object[], readonly (readonly string[])[]]>([
  ["a name in each", PIECES.map((text) => part(0, "a", "get_weather", text)), NAMED],
  ["a name in each, and no id", PIECES.map((text, n) => part(0, "", n < 2 ? "get_weather" : "", text)), NAMED],
  [
    "a name in each, by the id alone",
    PIECES.map((text, n) => part(undefined, "a", n < 2 ? "get_weather" : "", text)),
    NAMED,
  ],
  [
    "a name in pieces",
    [part(0, "a", "get_", ""), part(0, undefined, "wea", ""), part(0, "a", "ther", '{"k":1}')],
    NAMED,
  ],
  [
    "C5: no index",
    [
      part(undefined, "a", "f", '{"k"'),
      part(undefined, undefined, undefined, ":1}"),
      part(undefined, "b", "g", '{"k":2}'),
    ],
    [
      ["f", '{"k":1}'],
      ["g", '{"k":2}'],
    ],
  ],
  [
    "one index for all, told apart by their ids",
    [part(0, "a", "read", '{"k":1}'), part(0, "b", "remove_all", '{"all":true}')],
    [
      ["read", '{"k":1}'],
      ["remove_all", '{"all":true}'],
    ],
  ],
  [
    "the index of the first where each begins, and then its own",
    [
      part(0, "a", "f", '{"k":1}'),
      part(0, "b", "f", ""),
      part(0, "c", "f", ""),
      part(1, undefined, undefined, '{"k":2}'),
      part(2, undefined, undefined, '{"k":3}'),
    ],
    [1, 2, 3].map((k) => ["f", `{"k":${k}}`]),
  ],
  [
    "another index with the same id later",
    [part(0, "a", "f", '{"k"'), part(4, "a", undefined, ":1}")],
    [["f", '{"k":1}']],
  ],
])("fragments are put together into calls where they have %s", (_, fragments, calls) => {
  expect(callsFrom(fragments)).toEqual(calls);
});

test("lists of a vendor's own go back whole: parts of one type, index and id are one, with its signature", async () => {
  const [text, sealed] = ["reasoning.text", "reasoning.encrypted"];
  const details = [
    { type: text, index: 0, text: "Let", format: "x" },
    { type: sealed, index: 0, id: "e1", data: "blob" },
    { type: text, index: 0, text: " me see.", format: "x" },
    { type: text, index: 0, signature: "s0", format: "x" },
    { type: text, index: 0, text: "", signature: null },
    { type: sealed, index: 0, id: "e2", data: "other" },
    { type: text, text: "Alone." },
  ];
  const deltas = [...details.map((one) => ({ reasoning_details: [one] })), delta(0, "a", "f", "{}")];
  const { served } = await run([{ raw: { deltas } }, { text: "4" }], { tools: [counted("f").tool] }, sloppyWire);
  expect(messagesOf(served, 1)[2]?.reasoning_details).toEqual([
    { type: text, index: 0, text: "Let me see.", format: "x", signature: "s0" },
    { type: sealed, index: 0, id: "e1", data: "blob" },
    { type: sealed, index: 0, id: "e2", data: "other" },
    { type: text, text: "Alone." },
  ]);
});

test("whatever of indexes and ids a server leaves out or repeats, no call is read with another's input", () => {
  const call = fc.record({ name: fc.constantFrom("read", "remove_all"), pieces: fc.integer({ min: 0, max: 3 }) });
  const server = fc.record({
    index: fc.constantFrom("own" as const, "zero" as const, "none" as const, "first" as const),
    id: fc.constantFrom("own" as const, "same" as const, "none" as const),
    laterId: fc.constantFrom("own" as const, "empty" as const, "none" as const),
    repeatsName: fc.boolean(),
  });
  const mixed = fc.array(server, { minLength: 3, maxLength: 3 });
  fc.assert(
    fc.property(
      fc.array(call, { minLength: 1, maxLength: 3 }),
      mixed,
      fc.boolean(),
      fc.array(fc.nat(5)),
      (calls, servers, alike, picks) => {
        const meant = calls.map(({ name, pieces }, place) => ({
          name,
          text: pieces === 0 ? "" : JSON.stringify({ of: place, pad: "x".repeat(pieces) }),
        }));
        const lists = meant.map(({ name, text }, place) => {
          const { index, id, laterId, repeatsName } = servers[alike ? 0 : place] as (typeof servers)[0];
          const ownId = id === "none" ? undefined : id === "same" ? "same" : `id-${place}`;
          const at = index === "none" ? undefined : index === "zero" ? 0 : place;
          const later = laterId === "own" ? ownId : laterId === "empty" ? "" : undefined;
          const pieces = text.match(/[^]{1,9}/g) ?? [];
          return [
            part(at, ownId, name, ""),
            ...pieces.map((piece) =>
              part(index === "first" ? undefined : at, later, repeatsName ? name : undefined, piece),
            ),
          ];
        });
        const order = lists.map((list) => [...list]);
        const fragments: object[] = [];
        for (let turn = 0; order.some(({ length }) => length > 0); turn += 1) {
          const open = order.filter(({ length }) => length > 0);
          fragments.push(...(open[(picks[turn] ?? 0) % open.length] ?? []).splice(0, 1));
        }
        const read = callsFrom(fragments) ?? [];
        // A name or an input that was put together of two is none, and told to the model.
        const isMade = ([name, text]: readonly unknown[]) =>
          meant.some((one) => one.name === name) && (text === "" || isJson(String(text)));
        const wrong = read
          .filter(isMade)
          .filter(([name, text]) => !meant.some((one) => one.name === name && one.text === text));
        expect(wrong).toEqual([]);
      },
    ),
    { numRuns: runs(3000) },
  );
});
