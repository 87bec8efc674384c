import { expect, test } from "vitest";
import { LogCollector, printedText } from "../../../src/programs/drive/log-collector.ts";

function collect(logBytes: number, ...printed: readonly (readonly [string, number])[]): LogCollector {
  const collector = new LogCollector({ logBytes, printedBytes: 2048 });
  for (const [text, dropped] of printed) collector.add(text, dropped);
  return collector;
}

test("without output the log is empty", () => {
  expect(collect(256).shown.logs).toEqual({ text: "", lines: 0, bytes: 0, dropped: 0 });
});

test("printed texts are joined in order, with the number of lines and of UTF-8 bytes", () => {
  expect(collect(256, ["one\ntwo\n", 0], ["drei ü\n", 0]).shown.logs).toEqual({
    text: "one\ntwo\ndrei ü\n",
    lines: 3,
    bytes: 16,
    dropped: 0,
  });
});

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

test("a character counts as its bytes of UTF-8", () => {
  const most = 2048 + 256 + 1024;
  const collector = collect(256, [`${"語".repeat(1109)}x`, 0]);
  expect([collector.bytes, collector.overflowed]).toEqual([most, false]);
  collector.add("ü", 0);
  expect([collector.bytes, collector.overflowed]).toEqual([most + 2, true]);
});

test("a text over the whole budget is not kept", () => {
  const collector = collect(256, ["x".repeat(10_000_000), 0]);
  expect([collector.overflowed, collector.shown.logs.text]).toEqual([true, ""]);
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

test("what fits into both ends is shown as it is, and nothing else is kept", () => {
  const printed = numbered(100, 156);
  expect(collect(256, [printed, 0]).shown).toEqual({
    logs: { text: printed, lines: 56, bytes: 504, dropped: 0 },
    printed: undefined,
  });
});

test("of a long line both ends are shown, with the characters between", () => {
  const { logs, printed: kept = [] } = collect(256, [`a${"x".repeat(1500)}Error: out of it\n`, 0]).shown;
  expect(logs.text).toMatch(/^ax{63}… \[1389 characters of this line left out\] …x{48}Error: out of it\n$/);
  expect([logs.lines, logs.dropped]).toEqual([1, 0]);
  expect(printedText(kept)).toHaveLength(1518);
});

test("lines that the guest has left out are counted with those that are not shown, and nothing before them is last", () => {
  const { logs, printed: kept = [] } = collect(256, [numbered(100, 200), 0], [numbered(900, 910), 7]).shown;
  expect(logs.text).toBe(`${numbered(100, 128)}… 79 lines left out …\n${numbered(900, 910)}`);
  expect([logs.lines, logs.dropped]).toEqual([117, 79]);
  expect(printedText(kept)).toBe(`${numbered(100, 200)}… 7 lines left out …\n${numbered(900, 910)}`);
});

test("a log without line breaks, and one of nothing but line breaks, have ends too", () => {
  const { text } = collect(256, ["y".repeat(1000), 0]).shown.logs;
  expect(text).toMatch(/^y{64}… \[872 characters of this line left out\] …y{64}$/);
  const { logs } = collect(256, ["\n".repeat(1000), 0]).shown;
  expect(logs).toMatchObject({ lines: 1000, dropped: 488 });
});
