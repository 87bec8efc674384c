import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTextTool } from "../../src/index.ts";
import { type Fields, modelOfBodies, type Wire } from "./wire.ts";
import { answered, makeTool } from "../support/index.ts";
import { WIRES, anthropicWire, chatWire, geminiWire, responsesWire } from "./wires.ts";

/*
 * A call that cannot be read is never made with less than the model wrote, and never left out: nothing of its reply runs, or the
 * model is told. Beside each stands a call that could be made. Held for `src/models/turn/written-text.ts`.
 */

/** A reply whose calls are given in the provider's own form. */
const REPLIES = new Map<Wire, (calls: readonly unknown[]) => Fields>([
  [anthropicWire, (content) => ({ content, stop_reason: "tool_use" })],
  [responsesWire, (output) => ({ output, status: "completed" })],
  [chatWire, (tool_calls) => ({ message: { role: "assistant", content: null, tool_calls } })],
  [geminiWire, (parts) => ({ parts })],
]);

/** A call in the provider's own form, by its name and input. */
type MakeCall = (id: string, name: unknown, input: unknown) => Fields;
const CALLS = new Map<Wire, MakeCall>([
  [anthropicWire, (id, name, input) => ({ type: "tool_use", id, name, input })],
  [
    responsesWire,
    (id, name, input) => ({ type: "function_call", id, call_id: id, name, arguments: input, status: "completed" }),
  ],
  [chatWire, (id, name, input) => ({ id, type: "function", function: { name, arguments: input } })],
  [geminiWire, (id, name, input) => ({ functionCall: { id, name, args: input } })],
]);

const isText = (wire: Wire) => wire === responsesWire || wire === chatWire;

/** Two tools that can be called without an input, so that a lost input would be noticed by what runs. */
function watched() {
  const made: unknown[] = [];
  const about = { allowedCallers: ["direct"], effect: "write" } as const;
  const inputSchema = z.object({ k: z.unknown().optional() });
  const f = makeTool({ ...about, name: "f", inputSchema, execute: (input) => made.push(input) });
  const sql = defineTextTool({ ...about, name: "sql", description: "S.", execute: (text) => made.push(text) });
  return { tools: [f, sql], made };
}

async function askWith(wire: Wire, body: string, stream: boolean) {
  const { tools, made } = watched();
  const model = modelOfBodies(wire, stream, [body]);
  const { ending, transcript } = await answered(tools, {
    model,
    task: "Do it.",
    programs: "none",
    loop: { maxTurns: 2 },
  });
  const refused = transcript.turns.flatMap(({ results }) => results.filter(({ isError }) => isError)).length;
  return { ending, made, refused };
}

const INVALID = { type: "provider_failed", failure: { code: "reply_invalid" } };

const GOOD = { k: "good" };

interface Bad {
  readonly why: string;
  readonly call: unknown;
  /** Whether the reply is taken, and the model told that this call cannot be made. */
  readonly isTold?: true;
}

/** What stands where a call is expected. */
function badOf(wire: Wire): readonly Bad[] {
  const call = CALLS.get(wire) as MakeCall;
  const input = isText(wire) ? "{}" : {};
  const names = [undefined, "", 5, { f: 1 }].map((name): Bad => {
    const why = `the name ${JSON.stringify(name) ?? "undefined"}`;
    const bad = { why, call: call("c", name, input) };
    return { ...bad, isTold: true };
  });
  const inputs = [5, true, [{ k: 1 }], ...(isText(wire) ? [] : ['{"k":1'])].map((given): Bad => {
    const bad = { why: `the input ${JSON.stringify(given)}`, call: call("c", "f", given) };
    return isText(wire) ? bad : { ...bad, isTold: true };
  });
  return [...names, ...inputs, ...OTHERS.filter(([of]) => of === wire).map(([, why, one]) => ({ why, call: one }))];
}

const OF_SQL = { type: "custom_tool_call", id: "c", call_id: "c", name: "sql", status: "completed" };

const OTHERS: readonly (readonly [Wire, string, unknown])[] = [
  [responsesWire, "no text for a text tool", OF_SQL],
  [responsesWire, "a number for a text tool", { ...OF_SQL, input: 5 }],
  [chatWire, "a number for a call", 5],
  [chatWire, "no function", { id: "c", type: "function" }],
  [chatWire, "nothing for a function", { id: "c", type: "function", function: null }],
  [geminiWire, "a text for a call", { functionCall: "f" }],
];

test.each(WIRES.flatMap(([name, wire]) => badOf(wire).map((bad) => [name, bad.why, wire, bad] as const)))(
  "a call of %s with %s is never made with less than was written, and never left out",
  async (...given) => {
    const [, , wire, { call: bad, isTold }] = given;
    const good = CALLS.get(wire)?.("g", "f", isText(wire) ? JSON.stringify(GOOD) : GOOD);
    for (const calls of [[bad], [good, bad], [bad, good]]) {
      const raw = REPLIES.get(wire)?.(calls) as Fields;
      const { ending, made, refused } = await askWith(wire, JSON.stringify(wire.json({ raw }, 1)), false);
      expect(made.filter((one) => !isDeepStrictEqual(one, GOOD))).toEqual([]);
      if (isTold) expect(refused).toBeGreaterThan(0);
      else expect([ending, made]).toEqual([expect.objectContaining({ type: "provider_failed" }), []]);
      if (!isTold) expect(ending).toMatchObject(INVALID);
    }
  },
);

/** The events of a response with one item. */
const done = (item: Fields): readonly Fields[] => [
  {
    type: "response.output_item.done",
    output_index: 0,
    item: { id: "a", call_id: "a", status: "completed", ...item },
  },
  { type: "response.completed", response: { id: "r", status: "completed", output: [] } },
];

/** The events of a streamed call of `f`, in whose pieces of the input stands `BAD`. */
const STREAMS: readonly (readonly [name: string, wire: Wire, events: readonly Fields[]])[] = [
  [
    "Anthropic Messages",
    anthropicWire,
    [
      { type: "message_start", message: { id: "m", usage: {} } },
      { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "a", name: "f", input: {} } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "BAD" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: {} },
      { type: "message_stop" },
    ],
  ],
  ["OpenAI Responses", responsesWire, done({ type: "function_call", name: "f", arguments: "BAD" })],
  ["OpenAI Responses, a text tool", responsesWire, done({ type: "custom_tool_call", name: "sql", input: "BAD" })],
  [
    "OpenAI Chat Completions",
    chatWire,
    [
      { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...CALLS.get(chatWire)?.("a", "f", "BAD") }] } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
    ],
  ],
  [
    "Gemini",
    geminiWire,
    [{ candidates: [{ content: { parts: [CALLS.get(geminiWire)?.("a", "f", "BAD")] }, finishReason: "STOP" }] }],
  ],
];

const streamed = (events: readonly Fields[], input: unknown) =>
  events
    .map((event) => {
      const data = JSON.stringify(event).replace('"BAD"', JSON.stringify(input));
      return `${typeof event.type === "string" ? `event: ${event.type}\n` : ""}data: ${data}\n\n`;
    })
    .join("");

test.each(STREAMS)(
  "a streamed input of %s that is not of its kind is never taken for the empty one",
  async (...given) => {
    const [, wire, events] = given;
    const isObject = isText(wire) && JSON.stringify(events).includes("arguments");
    const inputs = [5, true, ["k"], ...(wire === geminiWire ? ['{"k":1'] : isObject ? [] : [{ k: 1 }])];
    for (const input of inputs) {
      const { ending, made } = await askWith(wire, streamed(events, input), true);
      expect([JSON.stringify(input), made]).toEqual([JSON.stringify(input), []]);
      // Gemini streams no pieces of inputs: the gate refuses what is no object.
      if (wire !== geminiWire) expect(ending).toMatchObject(INVALID);
    }
    const { made } = await askWith(wire, streamed(events, wire === geminiWire ? {} : "{}"), true);
    expect(made.length).toBeGreaterThan(0);
  },
);

test("a reply of Chat Completions that says that it calls, in a form that was not asked for, is no answer", async () => {
  for (const message of [
    { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
    { role: "assistant", content: "", tool_calls: [] },
    { role: "assistant", content: null, tool_calls: {} },
    { role: "assistant", content: null, tool_calls: "f" },
  ])
    for (const finish_reason of ["tool_calls", "function_call"]) {
      const { ending, made } = await askWith(
        chatWire,
        JSON.stringify(chatWire.json({ raw: { message, finish_reason } }, 1)),
        false,
      );
      expect(made).toEqual([]);
      expect(ending).toMatchObject(INVALID);
    }
});
