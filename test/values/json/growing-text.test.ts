import { expect, test } from "vitest";
import { GrowingText } from "../../../src/values/json/growing-text.ts";
import { memoryOf } from "../../../src/values/held-bytes.ts";

const MIB = 1024 * 1024;

function made(parts: readonly string[]): GrowingText {
  const text = new GrowingText();
  for (const part of parts) text.add(part, Buffer.byteLength(part));
  return text;
}

test.each([
  ["nothing", []],
  ["ASCII", ['{"a":', "1", "", "}"]],
  ["ASCII and others", ["plain", "caf\u00e9", "\u4e16", "\u{1f6aa}", "plain"]],
  ["more than it has at first", ["x".repeat(3 * MIB), "\u00e9".repeat(MIB), "x".repeat(3 * MIB)]],
  ["much more than it has at first", Array.from({ length: 70 }, (_, n) => String(n % 10).repeat(MIB))],
])("the parts are joined: %s", (_, parts) => {
  const text = made(parts);
  // Compared so that a failure does not print it.
  expect(text.toString() === parts.join("")).toBe(true);
  expect(text.bytes).toBe(Buffer.byteLength(parts.join("")));
  expect(text.heldBytes).toBe(memoryOf(parts.join("")));
});

test("a text that was made stays when its memory is freed", () => {
  const text = made(["x".repeat(4 * MIB)]);
  const joined = text.toString();
  text.free();
  expect(joined === "x".repeat(4 * MIB)).toBe(true);
});
