import { expect, test } from "vitest";
import { LogCollector } from "../../../src/programs/drive/log-collector.ts";

function collect(logBytes: number, ...printed: readonly (readonly [string, number])[]): LogCollector {
  const collector = new LogCollector(logBytes);
  for (const [text, dropped] of printed) collector.add(text, dropped);
  return collector;
}

test("without output the log is empty", () => {
  expect(collect(256).logs).toEqual({ text: "", lines: 0, bytes: 0, dropped: 0 });
});

test("printed texts are joined in order, with the number of lines and of UTF-8 bytes", () => {
  expect(collect(256, ["one\ntwo\n", 0], ["drei ü\n", 0]).logs).toEqual({
    text: "one\ntwo\ndrei ü\n",
    lines: 3,
    bytes: 16,
    dropped: 0,
  });
});

test("omitted lines are counted, and the log says where they are missing", () => {
  expect(collect(256, ["one\n", 0], ["six\n", 4], ["eight\n", 1]).logs).toEqual({
    text: "one\n… 4 lines left out …\nsix\n… 1 line left out …\neight\n",
    lines: 8,
    bytes: Buffer.byteLength("one\n… 4 lines left out …\nsix\n… 1 line left out …\neight\n"),
    dropped: 5,
  });
});

test("a text whose JSON is longer than the remaining budget is refused without parsing", () => {
  const most = 256 * 2 + 1024;
  const longest = JSON.stringify("\u0001".repeat(most));
  expect(collect(256).refuse(longest.length)).toBe(false);
  const collector = collect(256);
  expect(collector.refuse(longest.length + 1)).toBe(true);
  expect(collector.bytes).toBe(most + 1);
  expect(collector.overflowed).toBe(true);
  expect(collect(256, ["x", 0]).refuse(longest.length)).toBe(true);
});

test("output within a guest's own bounds is kept, and more than that is reported and not kept", () => {
  const most = 256 * 2 + 1024;
  const collector = collect(256, ["x".repeat(most - 1), 0], ["y", 0]);
  expect(collector.overflowed).toBe(false);
  collector.add("z", 3);
  expect(collector.overflowed).toBe(true);
  expect(collector.logs).toEqual({ text: `${"x".repeat(most - 1)}y`, lines: 0, bytes: most, dropped: 0 });
});

test("a character counts as its bytes of UTF-8", () => {
  const most = 256 * 2 + 1024;
  const collector = collect(256, ["語".repeat(most / 3), 0]);
  expect([collector.bytes, collector.overflowed]).toEqual([most, false]);
  collector.add("ü", 0);
  expect([collector.bytes, collector.overflowed]).toEqual([most + 2, true]);
});

test("a text over the whole budget is not kept", () => {
  const collector = collect(256, ["x".repeat(10_000_000), 0]);
  expect([collector.overflowed, collector.logs.text]).toEqual([true, ""]);
});

test("notes on omitted lines, and empty texts, count against the budget", () => {
  const marks = new LogCollector(1024);
  for (let count = 0; count < 200; count += 1) marks.add("", 1);
  expect(marks.overflowed).toBe(true);
  const nothing = new LogCollector(1024);
  for (let count = 0; count < 4000; count += 1) nothing.add("", 0);
  expect(nothing.overflowed).toBe(true);
});

test("more omitted lines in all than a safe integer can count are too much output", () => {
  const collector = new LogCollector(1024);
  collector.add("a\n", Number.MAX_SAFE_INTEGER - 1);
  expect(collector.overflowed).toBe(false);
  collector.add("a\n", 2);
  expect(collector.overflowed).toBe(true);
});
