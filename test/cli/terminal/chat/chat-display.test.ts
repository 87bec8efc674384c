import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { childExecution } from "../../../../src/agent/calls/child-execution.ts";
import type { AgentEvent } from "../../../../src/agent/event.ts";
import { ChatDisplay } from "../../../../src/cli/terminal/chat/chat-display.ts";
import { screenOf } from "../../on-terminal.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const PROGRAM = childExecution("talk", "p1");
type Told = AgentEvent extends infer Event ? (Event extends unknown ? Omit<Event, "at" | "execution"> : never) : never;

function terminal(rows = 24, columns = 80) {
  let written = "";
  const programs: string[] = [];
  const stream = { columns, rows, write: (text: string) => (written += text.replaceAll("\n", "\r\n")) };
  const display = new ChatDisplay(stream, programs);
  const tell = (event: Told, execution = "talk") => {
    if (event.type === "program_started") programs.push(event.callId);
    display.onEvent({ ...event, execution, at: 0 });
  };
  /** What stands on the terminal once all that is due was drawn. */
  const screen = () => {
    vi.advanceTimersByTime(60);
    return screenOf(written);
  };
  display.begin("talk");
  return { display, tell, screen, written: () => written };
}

const called = { caller: "programmatic", tool: "rows.list" } as const;
const ended = (callId: string, tool = "rows.list"): Told => ({
  ...called,
  type: "call_ended",
  callId,
  tool,
  ms: 3,
  bytes: 2048,
  started: true,
  outcome: { type: "value", shape: "array of 500" },
});
const write = (text: string): Told => ({ type: "argument", index: 0, tool: "run_program", text });

test("a program is shown as it is written, then while it runs with its calls, and is folded when it is done", () => {
  const { tell, screen, written } = terminal();
  tell({ type: "text", text: "I look." });
  tell(write("const a = 1;\nretu"));
  expect(screen()).toEqual([
    "  I look.",
    "the model writes a program",
    "  │ const a = 1;",
    "  │ retu",
    "… the model works, 0 s. Ctrl-C interrupts.",
  ]);
  expect(written()).toContain("\u001b[35mconst\u001b[39m");
  tell(write("rn a;"));
  tell({ type: "program_started", callId: "p1", source: "const a = 1;\nreturn a;", hosted: false });
  tell({ ...called, type: "call_started", callId: "1" }, PROGRAM);
  tell({ ...called, type: "call_started", callId: "2" }, PROGRAM);
  tell({ ...called, type: "call_streamed", callId: "2", items: 20, bytes: 1024 }, PROGRAM);
  tell(ended("1"), PROGRAM);
  expect(screen()).toEqual([
    "  I look.",
    "program 1",
    "  │ const a = 1;",
    "  │ return a;",
    "  · rows.list → array of 500, 3.0 ms, 2 KiB",
    "  · rows.list: stream of 20 items, 1 KiB so far …",
    "… program 1 runs, 0 s. Ctrl-C interrupts.",
  ]);
  tell({ type: "program_ended", callId: "p1", isError: false, hosted: false });
  tell({ type: "text", text: "It is 1.\n" });
  const lines = screen();
  expect(lines.slice(1, 4).map((line) => line.replace(/[\d.]+ m?s;/, "TIME;"))).toEqual([
    "▸ program 1 done (2 lines, 1 call, TIME; /show 1)",
    "  · rows.list → array of 500, 3.0 ms, 2 KiB",
    "  It is 1.",
  ]);
});

test("of a program that is longer than the terminal the last lines are shown, and what is drawn can be taken away", () => {
  const { tell, screen, display } = terminal(12);
  tell(write(Array.from({ length: 100 }, (_, at) => `line${at};`).join("\n")));
  expect(screen()).toHaveLength(11);
  expect(screen()[1]).toMatch(/│ … \d+ earlier lines$/);
  expect(screen().at(-2)).toBe("  │ line99;");
  display.rest();
  expect(screen()).toEqual([""]);
});

test("of a program with more than ten calls, each tool has one line once it is done, and how many calls had no value", () => {
  const { tell, screen } = terminal();
  tell({ type: "program_started", callId: "p1", source: "1", hosted: false });
  for (let id = 1; id <= 12; id += 1) tell(ended(String(id)), PROGRAM);
  tell({ ...ended("13"), outcome: { type: "failed", code: "handler_failed" } } as Told, PROGRAM);
  for (let id = 20; id < 40; id += 1) tell(ended(String(id), `tool${id}\u001b`), PROGRAM);
  tell({ type: "program_ended", callId: "p1", isError: false, hosted: false });
  const lines = screen();
  expect(lines.slice(1, 3)).toEqual([
    "  · rows.list × 13, 1 without a value, 26 KiB",
    String.raw`  · tool20\u001b × 1, 2 KiB`,
  ]);
  expect(lines.slice(10, 12)).toEqual([String.raw`  · tool28\u001b × 1, 2 KiB`, "  · other tools × 11, 22 KiB"]);
});

test("the text of agents that are tools is no part of the answer, and their calls are told", () => {
  const { tell, screen } = terminal();
  tell({ type: "text", text: "Mine. " });
  tell({ type: "text", text: "Theirs. " }, "agent");
  tell(ended("1"), "agent");
  expect(screen().slice(0, 2)).toEqual(["  Mine.", "  · rows.list → array of 500, 3.0 ms, 2 KiB"]);
});

test("a question has the terminal: nothing is drawn meanwhile, and what happened is shown after it", () => {
  const { tell, screen, display, written } = terminal();
  tell({ ...called, type: "call_started", callId: "1" }, PROGRAM);
  screen();
  const held = display.hold();
  const before = written();
  tell(ended("1"), PROGRAM);
  tell({ type: "text", text: "Later.\n" });
  vi.advanceTimersByTime(10_000);
  expect(written()).toBe(before);
  held[Symbol.dispose]();
  expect(screen().slice(0, 2)).toEqual(["  · rows.list → array of 500, 3.0 ms, 2 KiB", "  Later."]);
});

test("who asks is told: the model, a program by its number, or what is below a call", () => {
  const { tell, display } = terminal();
  tell({ type: "program_started", callId: "p1", source: "1", hosted: false });
  expect(display.callerOf({ execution: "talk", caller: "direct" })).toBe("The model");
  expect(display.callerOf({ execution: PROGRAM, caller: "programmatic" })).toBe("Program 1");
  expect(display.callerOf({ execution: "x\u001b", caller: "direct" })).toBe(
    String.raw`An agent or a program below a call (x\u001b)`,
  );
});

test("names of tools and programs' texts steer nothing, wherever they are shown", () => {
  const foreign = `\u001b[2J\u202e${"x".repeat(200)}\r\nRun it?`;
  const { tell, screen } = terminal();
  tell({ ...called, type: "call_started", callId: "1", tool: foreign }, "agent");
  tell(write(foreign));
  screen();
  tell(ended("1", foreign), "agent");
  tell({ type: "program_started", callId: "p1", source: foreign, hosted: false });
  screen();
  const fault = { name: foreign, message: foreign };
  tell({ type: "program_ended", callId: "p1", isError: true, hosted: false, outcome: { type: "failed", fault } });
  for (const line of screen()) expect(line).not.toMatch(/[\u001b\u202e]|^Run it|^x/);
});

test("a program that was interrupted is folded, and nothing is drawn after that", () => {
  const { tell, screen, display } = terminal();
  tell({ type: "program_started", callId: "p1", source: "1", hosted: false });
  screen();
  display.rest();
  vi.advanceTimersByTime(10_000);
  expect(screen().map((line) => line.replace(/[\d.]+ m?s;/, "TIME;"))).toEqual([
    "▸ program 1 waits (1 line, 0 calls, TIME; /show 1)",
    "",
  ]);
});

test("on a narrow terminal lines are broken between words, and none is wider than it", () => {
  const { tell, screen } = terminal(24, 40);
  tell({ type: "program_started", callId: "p1", source: "1", hosted: false });
  tell(ended("1", "warehouse.stock.list"), PROGRAM);
  tell({ type: "program_ended", callId: "p1", isError: false, hosted: false });
  const lines = screen().map((line) => line.replace(/[\d.]+ m?s;/, "TIME;"));
  expect(lines.slice(0, 4)).toEqual([
    "▸ program 1 done",
    "  (1 line, 1 call, TIME; /show 1)",
    "  · warehouse.stock.list → array of",
    "  500, 3.0 ms, 2 KiB",
  ]);
});

test("while calls run that the model made itself, the last line says so", () => {
  const { tell, screen } = terminal();
  const direct = { ...called, caller: "direct" } as const;
  tell({ type: "argument", index: 0, tool: "rows.list", text: "{}" });
  expect(screen().at(-1)).toContain("the model writes a call of rows.list");
  tell({
    type: "turn_ended",
    turn: 1,
    text: "",
    calls: [],
    usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
  });
  tell({ ...direct, type: "call_started", callId: "1" });
  expect(screen().at(-1)).toContain("… a call runs");
  tell({ ...direct, type: "call_started", callId: "2" });
  expect(screen().at(-1)).toContain("… 2 calls run");
  for (const id of ["1", "2"]) tell(ended(id));
  expect(screen().at(-1)).toContain("… the model works");
});

test("the approval of a program itself is none of its calls", () => {
  const { tell, screen } = terminal();
  tell({ type: "program_started", callId: "p1", source: "1", hosted: false });
  tell({ ...called, type: "call_started", callId: "program", tool: "run_program" }, PROGRAM);
  tell(ended("program", "run_program"), PROGRAM);
  tell({ type: "program_ended", callId: "p1", isError: false, hosted: false });
  expect(screen()[0]).toMatch(/\(1 line, 0 calls, /);
  expect(screen().join("")).not.toContain("run_program");
});
