import { expect, test } from "vitest";
import { gemini } from "../../../../src/index.ts";
import { OPENING, requested, turnOf } from "../../converse.ts";

const begun = { event_type: "interaction.created", interaction: { id: "i", status: "in_progress" } };
const ended = (status: string) => ({ event_type: "interaction.completed", interaction: { id: "i", status } });
const start = (index: unknown, step: unknown) => ({ event_type: "step.start", index, step });
const piece = (index: unknown, delta: unknown) => ({ event_type: "step.delta", index, delta });
const stop = (index: unknown) => ({ event_type: "step.stop", index });
const CALLED = { type: "function_call", id: "a", name: "f" };

async function turnOfEvents(events: readonly unknown[]) {
  const model = gemini({
    model: "gemini-test",
    api: "interactions",
    apiKey: "k",
    retries: 0,
    fetch: async () =>
      new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
        headers: { "content-type": "text/event-stream" },
      }),
  });
  const conversation = await model.converse(OPENING);
  conversation.say("Do it.");
  return await conversation.turn(requested());
}

test.each<[string, readonly unknown[]]>([
  ["a step without a place", [start(undefined, CALLED), ended("requires_action")]],
  ["a step with a place that is no number", [start("0", CALLED), ended("requires_action")]],
  ["a step with a negative place", [start(-1, CALLED), ended("requires_action")]],
  ["two steps with one place", [start(0, CALLED), stop(0), start(0, CALLED), stop(0), ended("requires_action")]],
  ["a step that is no object", [start(0, "x"), stop(0), ended("completed")]],
  ["a piece of no step", [piece(0, { type: "text", text: "x" }), ended("completed")]],
  ["a piece of a step that has ended", [start(0, CALLED), stop(0), piece(0, { type: "arguments_delta" })]],
  ["a piece that is no object", [start(0, CALLED), piece(0, null), stop(0), ended("requires_action")]],
  ["a piece that would change a call", [start(0, CALLED), piece(0, { type: "x", name: "a_b" }), stop(0)]],
  ["the end of no step", [stop(0), ended("completed")]],
  ["an end twice", [start(0, CALLED), stop(0), stop(0), ended("requires_action")]],
  ["an event without a kind", [{ step: CALLED }, ended("completed")]],
  ["an event that is no object", [5, ended("completed")]],
])("a stream with %s is no reply of the protocol", async (_, events) => {
  expect(await turnOfEvents([begun, ...events])).toMatchObject({ type: "failed", failure: { code: "reply_invalid" } });
});

test.each<[string, readonly unknown[]]>([
  ["nothing", []],
  ["no end", [start(0, CALLED), stop(0)]],
  [
    "a call that does not end",
    [start(0, CALLED), piece(0, { type: "arguments_delta", arguments: "{}" }), ended("requires_action")],
  ],
])("a stream with %s broke off", async (_, events) => {
  expect(await turnOfEvents([begun, ...events])).toMatchObject({ type: "failed", failure: { code: "interrupted" } });
});

test.each([
  [[ended("incomplete"), ended("requires_action")], { end: { type: "cut_off" }, calls: [] }],
  [[ended("requires_action"), ended("incomplete")], { end: { type: "cut_off" }, calls: [] }],
  [[{ event_type: "error", error: { code: "x" } }, ended("requires_action")], { type: "failed" }],
  [[ended("requires_action"), { event_type: "error", error: { code: "x" } }], { type: "failed" }],
])("an interaction that ends twice has not been completed: %j", async (ends, reply) => {
  expect(await turnOfEvents([begun, start(0, CALLED), stop(0), ...ends])).toMatchObject(reply);
});

test("a call without an input has the empty one, and one whose input is no object is refused by the gate", async () => {
  const inputs = [[], ["{}"], ['{"k"', ":1}"], ["[1]"], ['{"k":'], ["null"]];
  const events = inputs.flatMap((texts, at) => [
    start(at, { ...CALLED, id: `c${at}` }),
    ...texts.map((text) => piece(at, { type: "arguments_delta", arguments: text })),
    stop(at),
  ]);
  const { calls } = turnOf(await turnOfEvents([begun, ...events, ended("requires_action")]));
  expect(calls.map((call) => call.type === "tool_call" && call.inputText)).toEqual([
    "{}",
    "{}",
    '{"k":1}',
    "[1]",
    '{"k":',
    "null",
  ]);
});

test("steps that come with the last event alone are read", async () => {
  const steps = [{ type: "model_output", content: [{ type: "text", text: "4" }] }];
  const last = { event_type: "interaction.completed", interaction: { id: "i", status: "completed", steps } };
  expect(turnOf(await turnOfEvents([begun, last])).text).toBe("4");
});

test("tokens are counted up to where a stream broke off", async () => {
  const usage = { total_input_tokens: 7, total_output_tokens: 2, total_thought_tokens: 1 };
  const update = { event_type: "interaction.status_update", interaction_id: "i", status: "in_progress", usage };
  expect(await turnOfEvents([begun, update])).toMatchObject({ usage: { inputTokens: 7, outputTokens: 3 } });
  const delta = { ...piece(0, { type: "text", text: "4" }), metadata: { total_usage: usage } };
  expect(await turnOfEvents([begun, start(0, { type: "model_output" }), delta])).toMatchObject({
    usage: { inputTokens: 7, outputTokens: 3 },
  });
});
