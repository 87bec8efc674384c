import { expect, test } from "vitest";
import { encodedStrictly, isHeaderName, isHeaderValue } from "../../src/sources/request-text.ts";

test("a header's name is a token, and its value one line of Latin-1", () => {
  expect(["X-Key", "x_key", "", "a b", "a:b", "a\r\nb", "é"].map(isHeaderName)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
  expect(["", "Bearer é\t1", "a\r\nb", "a\nb", "a\0b", "\x7f", "€"].map(isHeaderValue)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

test("no character that separates parts of an address is left as it is, and a half of a pair is replaced", () => {
  expect(encodedStrictly("a/b?c#d&e=f!'()*")).toBe("a%2Fb%3Fc%23d%26e%3Df%21%27%28%29%2A");
  expect(encodedStrictly("\ud83d")).toBe("%EF%BF%BD");
});
