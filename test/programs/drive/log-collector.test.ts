import { expect, test } from "vitest";
import { LogCollector, printedText } from "../../../src/programs/drive/log-collector.ts";

function collect(logBytes: number, ...printed: readonly (readonly [string, number])[]): LogCollector {
  const collector = new LogCollector({ logBytes, printedBytes: 2048 });
  for (const [text, dropped] of printed) collector.add(text, dropped);
  return collector;
}

test("omitted lines are counted, and the log says where they are missing", () => {
  expect(collect(256, ["one\n", 0], ["six\n", 4], ["eight\n", 1]).shown.logs).toEqual({
    text: "one\n… 4 lines left out …\nsix\n… 1 line left out …\neight\n",
    lines: 8,
    bytes: Buffer.byteLength("one\n… 4 lines left out …\nsix\n… 1 line left out …\neight\n"),
    dropped: 5,
  });
});

test("a text whose JSON is longer than the remaining budget is refused without parsing", () => {
  const most = 2048 + 256 + 1024;
  const longest = JSON.stringify("\u0001".repeat(most));
  expect(collect(256).refuse(longest.length)).toBe(false);
  const collector = collect(256);
  expect(collector.refuse(longest.length + 1)).toBe(true);
  expect(collector.bytes).toBe(most + 1);
  expect(collector.overflowed).toBe(true);
  expect(collect(256, ["x", 0]).refuse(longest.length)).toBe(true);
});

test("output within a guest's own bounds is kept, and more than that is reported and not kept", () => {
  const most = 2048 + 256 + 1024;
  const collector = collect(256, ["x".repeat(most - 1), 0], ["y", 0]);
  expect(collector.overflowed).toBe(false);
  collector.add("z", 3);
  expect(collector.overflowed).toBe(true);
  expect(printedText(collector.shown.printed ?? [])).toBe(`${"x".repeat(most - 1)}y`);
});

test("notes on omitted lines, and empty texts, count against the budget", () => {
  const marks = new LogCollector({ logBytes: 1024, printedBytes: 0 });
  for (let count = 0; count < 200; count += 1) marks.add("", 1);
  expect(marks.overflowed).toBe(true);
  const nothing = new LogCollector({ logBytes: 1024, printedBytes: 0 });
  for (let count = 0; count < 4000; count += 1) nothing.add("", 0);
  expect(nothing.overflowed).toBe(true);
});

test("more omitted lines in all than a safe integer can count are too much output", () => {
  const collector = new LogCollector({ logBytes: 1024, printedBytes: 0 });
  collector.add("a\n", Number.MAX_SAFE_INTEGER - 1);
  expect(collector.overflowed).toBe(false);
  collector.add("a\n", 2);
  expect(collector.overflowed).toBe(true);
});

// ---- both ends -------------------------------------------------------------------------------------------------

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `line ${from + index}\n`).join("");

test("of more than both ends, the first and the last lines are shown, and all of it is kept", () => {
  const printed = numbered(100, 200);
  const { logs, printed: kept = [] } = collect(256, [printed.slice(0, 301), 0], [printed.slice(301), 0]).shown;
  expect(logs.text).toBe(`${numbered(100, 128)}… 44 lines left out …\n${numbered(172, 200)}`);
  expect(logs).toMatchObject({ lines: 100, dropped: 44, bytes: Buffer.byteLength(logs.text) });
  expect(printedText(kept)).toBe(printed);
});
