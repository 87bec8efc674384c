import { afterEach, expect, test } from "vitest";
import type { AgentEvent } from "../../../../src/conversations/event.ts";
import { showConversation } from "../../../../src/cli/terminal/executions/conversation-lines.ts";
import { Screen } from "../../../../src/cli/terminal/screen.ts";
import { useStreams } from "../../../../src/cli/terminal/standard-streams.ts";

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

test("a pipe gets the lines alone", () => {
  const { tell, shown } = showing(false);
  tell({ type: "conversation_started", model: "scripted:one", task: "x" });
  tell({ type: "text", text: "Seven.\n" });
  tell({ type: "conversation_ended", ending: { type: "answered" } });
  expect(shown()).toBe("Seven.\n");
});

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
