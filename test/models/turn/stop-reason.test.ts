import { expect, test } from "vitest";
import { decisiveReason } from "../../../src/models/turn/stop-reason.ts";

test("of several reasons the one counts that says that the reply is not whole, and otherwise the last that is no empty text", () => {
  const whole = new Set(["stop", "tool_calls"]);
  const reasonOf = (...reasons: readonly (string | undefined)[]) =>
    reasons.reduce((before, next) => decisiveReason(before, next, whole), undefined);
  expect(reasonOf("stop", "tool_calls")).toBe("tool_calls");
  expect(reasonOf("length", "stop")).toBe("length");
  expect(reasonOf("stop", "length", "stop")).toBe("length");
  expect(reasonOf("", "stop", "", undefined)).toBe("stop");
  expect(reasonOf(undefined, "")).toBe(undefined);
});
