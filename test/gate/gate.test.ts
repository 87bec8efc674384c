import { expect, test } from "vitest";
import { Gate } from "../../src/gate/gate.ts";
import { FAILURE_CODES, REFUSAL_CODES } from "../../src/gate/answer.ts";
import { ToolSet } from "../../src/tools/tool-set.ts";
import { makeTool } from "./open-session.ts";

test.each([["always" as const], [() => false]])(
  "a tool that may need approval (%s) is refused where nobody is there to ask",
  (approval) => {
    const tools = new ToolSet([makeTool(), makeTool({ name: "bank.pay", approval })]);
    expect(() => new Gate(tools, undefined)).toThrow(
      expect.objectContaining({
        code: "option_invalid",
        message:
          'Tool "bank.pay" may need approval, but the runtime has no `approve`: pass one to createRuntime, or define the tool with approval: "never".',
      }),
    );
    expect(new Gate(tools, () => true).tools).toBe(tools);
  },
);

test("no code is both a refusal's and a failure's, so that a code says whether the handler ran", () => {
  expect(REFUSAL_CODES.filter((code) => (FAILURE_CODES as readonly string[]).includes(code))).toEqual([]);
});
