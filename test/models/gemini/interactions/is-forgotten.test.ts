import { expect, test } from "vitest";
import { isForgotten } from "../../../../src/models/gemini/interactions/is-forgotten.ts";

const failed = (status: unknown, message: string) => Object.assign(new Error(message), { status });

test.each<[boolean, unknown, string]>([
  [true, 400, "Invalid turn token: i1"],
  [true, 404, "Interaction not found"],
  [true, 404, "Requested entity was not found."],
  [true, 404, "i1 does not exist"],
  [true, 403, "previous_interaction_id has expired"],
  [true, 410, "The interaction was deleted."],
  [false, 404, "models/gemini-9 is not found for API version v1beta"],
  [false, 400, "Request contains an invalid argument."],
  [false, 400, "The legacy Interactions API schema is no longer supported."],
  [false, 400, "The interaction has too many steps."],
  [false, 404, ""],
  [false, 401, "Interaction not found"],
  [false, 429, "Interaction not found"],
  [false, 500, "Interaction not found"],
  [false, "404", "Interaction not found"],
  [false, undefined, "Interaction not found"],
])("that an interaction is forgotten is %j: %s %j", (isGone, status, message) => {
  expect(isForgotten(failed(status, message), "i1")).toBe(isGone);
  expect(isForgotten(failed(status, message), undefined)).toBe(false);
});

test("what is no error says nothing", () => {
  for (const thrown of [undefined, null, "Interaction not found", { status: 404, message: "Interaction not found" }])
    expect(isForgotten(thrown, "i1")).toBe(false);
});
