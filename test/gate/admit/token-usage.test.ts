import { expect, test } from "vitest";
import { TOKEN_USAGE } from "../../../src/gate/admit/token-usage.ts";

test("a usage of tokens has all three counts, none of them negative", () => {
  const usage = { inputTokens: 3, outputTokens: 2, cachedInputTokens: 0 };
  expect(TOKEN_USAGE.parse(usage)).toEqual(usage);
  for (const name of Object.keys(usage)) {
    expect(TOKEN_USAGE.safeParse({ ...usage, [name]: -1 }).success).toBe(false);
    expect(TOKEN_USAGE.safeParse({ ...usage, [name]: undefined }).success).toBe(false);
  }
});
