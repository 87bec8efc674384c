import { expect, test } from "vitest";
import { interactionTools, resultStep } from "../../../../src/models/gemini/interactions/request.ts";
import { OPENING, requested, resultOf } from "../../converse.ts";
import { serve } from "../../wire.ts";
import { interactionsWire } from "./wire.ts";

type Fields = Readonly<Record<string, unknown>>;

test.each<[object, string, object]>([
  ["none", "none", {}],
  ["required", "any", {}],
  [{ tool: "f" }, "f alone", { allowed_tools: { mode: "any", tools: ["f"] } }],
  [{ tool: "a.b" }, "a_b alone", { allowed_tools: { mode: "any", tools: ["a_b"] } }],
  ["auto", "validated", {}],
] as never)("the choice of tools %j is sent as %s", async (toolChoice, name, given) => {
  await using served = await serve(interactionsWire, [{ calls: [{ tool: "f", input: { k: 1 } }] }]);
  const conversation = await served.model({ strict: true }).converse(OPENING);
  conversation.say("Do it.");
  await conversation.turn(requested({ toolChoice: toolChoice as never }));
  expect(served.refusals).toEqual([]);
  const { tool_choice: sent } = (served.asked[0]?.body.generation_config ?? {}) as Fields;
  expect(sent).toEqual(Object.keys(given).length > 0 ? given : name);
});

test("a result has its value or its error as an object, and its label", () => {
  const call = { type: "function_call", id: "a", name: "f" };
  const none = { carried: [], told: [] } as never;
  const result = resultOf("a", { text: "[1,2]" });
  expect(resultStep(call, result, none)).toEqual({
    type: "function_result",
    call_id: "a",
    name: "f",
    result: { output: [1, 2] },
  });
  expect(resultStep(call, { ...result, text: "no", isJson: false, isError: true }, none)).toMatchObject({
    is_error: true,
    result: { error: "no" },
  });
});

test("functions and the search are tools of their own", () => {
  const declared = { name: "f", description: "F.", parametersJsonSchema: { type: "object" } };
  expect(interactionTools([declared], true)).toEqual([
    { type: "function", name: "f", description: "F.", parameters: { type: "object" } },
    { type: "google_search" },
  ]);
  expect(interactionTools([], false)).toEqual([]);
});
