import { expect, test } from "vitest";
import type { ExecutionView } from "../../../src/serve/views/view.ts";
import { duration, endingText, leadText, needsText, stateText } from "../../../src/serve/views/words.ts";

test("the limit that stopped an execution is named for those who set it, and told in words to all others", () => {
  const stopped = { type: "stopped", limit: "cpuMs" };
  expect(endingText(stopped)).toBe("stopped by the limit of running time (cpuMs)");
  const view = { kind: "program", state: "ended", driven: false, waiting: [], calls: [], outcome: stopped };
  expect(leadText(view as unknown as ExecutionView)).toContain("running time after 0 calls");
  expect(endingText({ type: "stopped", limit: "calls" })).toBe("stopped by the limit of calls");
});

test("a long message of a fault is told up to the end of a sentence, if it has one", () => {
  const told = (message: string) => {
    const outcome = { type: "failed", fault: { name: "ToolError", line: 2, message } };
    return leadText({
      kind: "conversation",
      state: "ended",
      turns: [],
      calls: [],
      outcome,
    } as unknown as ExecutionView);
  };
  expect(told(`The input does not fit. It takes ${"x, ".repeat(80)}.`)).toBe(
    "ToolError in line 2: The input does not fit.",
  );
  expect(told("x".repeat(400))).toBe(`ToolError in line 2: ${"x".repeat(160)} …`);
  expect(told("Short. Whole.")).toBe("ToolError in line 2: Short. Whole.");
});

test("an execution that a list does not read has a word for it", () => {
  expect(stateText({ state: "unread" })).toBe("not read");
  expect(stateText({ state: "ended", outcome: "answer_invalid" })).toBe("answer not valid");
});

test("an execution that no worker can take up says what it needs", () => {
  const needs = { what: "tools" as const, names: ["crm.find", "crm.pay"] };
  expect(stateText({ state: "running", driven: false, needs })).toBe("needs a worker");
  expect(stateText({ state: "running", driven: true, needs })).toBe("running");
  const view = { kind: "program", state: "running", driven: false, waiting: [], calls: [], needs };
  expect(leadText(view as unknown as ExecutionView)).toContain(": crm.find, crm.pay.");
  expect(needsText({ what: "tools", names: [] })).toBe("a worker with its tools as they were");
});

test.each([
  [9.96, "10 ms"],
  [999.6, "1.00 s"],
  [59_996, "1 min"],
  [119_700, "2 min"],
  [3_599_700, "1 h"],
  [90 * 60_000 + 7000, "1 h 30 min"],
])("a time of %d ms is rounded to units that are not full: %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});
