import * as fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import type { AgentEvent } from "../../../../src/conversations/event.ts";
import { showConversation, StreamCleaner } from "../../../../src/cli/terminal/executions/print-report.ts";
import { Screen } from "../../../../src/cli/terminal/executions/ask-approvals.ts";
import { useStreams } from "../../../../src/cli/terminal/standard-streams.ts";
import { cleanText } from "../../../../src/base/texts.ts";
import { anyCharacter } from "../../../support/any-character.ts";

afterEach(() => useStreams(process));

function showing(isTTY: boolean, isInset = false) {
  const written: string[] = [];
  const stream = { isTTY, columns: 80, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
  useStreams({ stdin: process.stdin, stdout: stream as never, stderr: stream as never });
  const show = showConversation(new Screen(), { isInset });
  return {
    tell: (event: object) => show({ execution: "e", at: 0, ...event } as AgentEvent),
    shown: () => written.splice(0).join(""),
  };
}

test("text that is to stand apart is indented, and the lines about calls are not", () => {
  const { tell, shown } = showing(false, true);
  const call = { type: "call_ended", callId: "1", tool: "pay", caller: "direct", ms: 1, outcome: { type: "aborted" } };
  for (const text of ["One ", "two\n", "call: pay"]) tell({ type: "text", text });
  tell({ type: "turn_ended" });
  tell(call);
  expect(shown()).toMatch(/^ {2}One two\n {2}call: pay\ncall: pay → aborted, /);
});

test("the approval of a program itself is not told as one of its calls", () => {
  const { tell, shown } = showing(false);
  const about = { callId: "program", tool: "run_program", caller: "programmatic", outcome: { type: "aborted" } };
  tell({ type: "call_ended", ms: 1, ...about });
  expect(shown()).toBe("");
});

const ODD = ["\u001b", "\r", "\n", "\u{1f600}", "\ud83d", "\ude00", "\ufe0f", "\u202e", "a", " ", "é", "日"];
const characters = fc.constantFrom("[2J", ...ODD);
const pieces = fc.array(
  fc.oneof(
    characters,
    fc.string({ unit: anyCharacter }),
    characters.map((text) => text.slice(0, 1)),
  ),
);

test("text in pieces is cleaned as the whole, wherever it is cut", () => {
  fc.assert(
    fc.property(pieces, (parts) => {
      const cleaner = new StreamCleaner();
      const cleaned = parts.map((part) => cleaner.add(part)).join("") + cleaner.end();
      expect(cleaned).toBe(cleanText(parts.join("")));
    }),
  );
});

test("a sequence of a terminal gains nothing by being split, and one character is held at most", () => {
  const cleaner = new StreamCleaner();
  expect(Array.from("\u001b[2J", (one) => cleaner.add(one)).join("")).toBe(String.raw`\u001b[2J`);
  expect([cleaner.add("a\r"), cleaner.add("\nb"), cleaner.add("\ud83d"), cleaner.add("\ude00")]).toEqual([
    "a",
    "\nb",
    "",
    "\u{1f600}",
  ]);
});
