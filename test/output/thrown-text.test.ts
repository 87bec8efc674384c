import { expect, test } from "vitest";
import { PortcullisError } from "../../src/errors.ts";
import { thrownText } from "../../src/output/thrown-text.ts";

test("a known failure is told by its code and sentence, without a stack, and with what caused it", () => {
  const known = new PortcullisError("tool_failed", "There is no such order.", { cause: new Error("status 404") });
  expect(thrownText(known)).toBe("tool_failed: There is no such order.\ncaused by Error: status 404");
});

test("any other value is told with its stack, and one whose getters throw by a sentence", () => {
  expect(thrownText(new TypeError("boom"))).toMatch(/^TypeError: boom\n +at /);
  expect(thrownText("a text")).toBe("'a text'");
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error("no");
      },
      ownKeys: () => {
        throw new Error("no");
      },
    },
  );
  expect(typeof thrownText(hostile)).toBe("string");
});
