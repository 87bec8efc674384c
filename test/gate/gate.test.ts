import { expect, test } from "vitest";
import { FAILURE_CODES, REFUSAL_CODES } from "../../src/gate/answer.ts";

test("refusals and failures share no code, so a code says whether the handler ran", () => {
  expect(REFUSAL_CODES.filter((code) => (FAILURE_CODES as readonly string[]).includes(code))).toEqual([]);
});
