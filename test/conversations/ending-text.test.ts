import { expect, test } from "vitest";
import { agentEndingText } from "../../src/conversations/ending-text.ts";

test.each([
  [undefined, "The model called look 4 times in a row with the same input, and got the same answer each time."],
  [
    2,
    "The model took the same 2 turns, the last with a call of look, 4 times in a row, and got the same answers each time.",
  ],
])("a repetition is told with the turns that it has: %s", (cycle, text) => {
  const ending = { type: "stuck", tool: "look", times: 4, ...(cycle === undefined ? {} : { cycle }) } as const;
  expect(agentEndingText(ending)).toBe(text);
});
