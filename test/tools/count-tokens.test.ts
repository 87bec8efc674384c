import { expect, test } from "vitest";
import { countTokens } from "../../src/tools/count-tokens.ts";

test.each([
  ["", 0],
  ["hello world", 2],
  ["tools.billing.listInvoices", 4],
])("the text %j has its tokens in o200k_base", (text, tokens) => {
  expect(countTokens(text)).toBe(tokens);
});

test("a megabyte of one character is counted in pieces, and so in a moment", { timeout: 20_000 }, () => {
  const piece = countTokens("a".repeat(4096));
  expect(countTokens("a".repeat(1024 * 1024))).toBe(piece * 256);
});

test("cutting a text into pieces costs at most one token a cut", () => {
  const text = "The quick brown fox jumps over the lazy dog. ".repeat(455);
  const words = text.length / 45;
  expect(countTokens(text)).toBeGreaterThanOrEqual(words * 10);
  expect(countTokens(text)).toBeLessThanOrEqual(words * 10 + Math.floor(text.length / 4096) + 1);
});

test("text that looks like a special token counts as the text it is", () => {
  for (const text of ["<|endoftext|>", "<|endofprompt|>", "a<|endoftext|>b"])
    expect(countTokens(text)).toBeGreaterThan(4);
});
