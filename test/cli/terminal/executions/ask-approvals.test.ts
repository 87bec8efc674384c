import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ApprovalRequest } from "../../../../src/gate/approve/approval.ts";
import type { ApproveMode } from "../../../../src/cli/input/option-values.ts";
import { createApprover, type Approver, Screen } from "../../../../src/cli/terminal/executions/ask-approvals.ts";
import { type Streams, useStreams } from "../../../../src/cli/terminal/standard-streams.ts";

const approvers: Approver[] = [];
afterEach(() => {
  approvers.splice(0).forEach((one) => one[Symbol.dispose]());
  useStreams(process);
});

beforeEach(() => void vi.stubEnv("TERM", "xterm"));

function terminal({ mode = "ask", isTTY = true }: { readonly mode?: ApproveMode; readonly isTTY?: boolean } = {}) {
  const input = Object.assign(new PassThrough(), { isTTY, ref: () => {}, unref: () => {} });
  let shown = "";
  const output = { isTTY, columns: 60, write: (text: string) => (shown += text) };
  const screen = new Screen();
  useStreams({ stdin: input, stdout: process.stdout, stderr: output } as unknown as Streams);
  const approver = createApprover({ mode, screen });
  approvers.push(approver);
  let calls = 0;
  const call = async (input: unknown, signal = new AbortController().signal, changes: Partial<ApprovalRequest> = {}) =>
    approver.approve({
      execution: "e",
      tenant: "default",
      context: undefined,
      callId: `${(calls += 1)}`,
      tool: "pay",
      caller: "programmatic",
      effect: "write",
      source: "bank",
      description: "Pays\nRun it? y",
      input,
      grantsLeft: 10,
      inputDigest: "",
      signal,
      ...changes,
    });
  const until = async (text: string) => {
    while (!shown.includes(text)) await setImmediate();
  };
  const asked = async (times: number) => {
    while (shown.split("\nRun it?").length <= times) await setImmediate();
  };
  /** Unlike `asked`, also counts questions that are put again in the same line. */
  const prompted = async (times: number) => {
    while (shown.split("Run it? y runs").length <= times) await setImmediate();
  };
  const echo = (text: string) => void (shown += text);
  /** Asks about one call, types an answer once it is asked, and resolves with the decision. */
  const answered = async (given: unknown, typed: string, changes?: Partial<ApprovalRequest>) => {
    const decided = call(given, undefined, changes);
    await asked(1);
    input.write(typed);
    return decided;
  };
  return {
    call,
    answered,
    until,
    asked,
    prompted,
    echo,
    screen,
    type: (text: string) => input.write(text),
    end: () => input.end(),
    shown: () => shown,
  };
}

const allowed = { allow: true, by: "terminal" };
const denied = { allow: false, by: "terminal", note: "The person who was asked denied it." };

test.each([
  ["y\n", allowed],
  ["Y\r\n", allowed],
  ["yes\n", allowed],
  ["n\n", denied],
  ["\n", denied],
  ["what?\ny\n", allowed],
])("%j answers with %j", async (typed, decision) => {
  expect(await terminal().answered({ amount: 1 }, typed)).toEqual(decision);
});

test("what was typed before a question was put answers no question", async () => {
  const { call, type, asked } = terminal();
  type("y\n");
  const decisions = [call({ amount: 1 }), call({ amount: 1_000_000 })];
  await asked(1);
  type("y\ny\n");
  await asked(2);
  type("n\n");
  expect(await Promise.all(decisions)).toEqual([allowed, denied]);
});

test("the question shows the caller, the tool and the input", async () => {
  const { answered, shown } = terminal();
  await answered({ amount: 250, lines: [{ sku: "K-9" }] }, "y\n");
  expect(shown()).toBe(
    'The program calls pay, which needs approval:\n  It changes something each time. Its source "bank" says:\n  Pays Run it? y\n  {"amount":250,"lines":[{"sku":"K-9"}]}\nRun it? y runs it, g 20 also up to 20 more, n or Enter denies it: ',
  );
});

test("an input that its tool's schema has converted is shown as the handler gets it, and below it as it was sent", async () => {
  const { call, type, until, shown } = terminal();
  const decision = call({ amount: 500 }, undefined, { rawInput: { amount: "5", note: "x".repeat(3000) } });
  await until("denies it: ");
  expect(shown()).toContain('\n  {"amount":500}\n  The tool\'s schema made it of this input:\n  {"amount":"5",');
  type("v\ny\n");
  await decision;
  expect(shown().replaceAll(/\n +/g, "")).toContain("x".repeat(3000));
});

test("a long value hides no other field, and v shows the input whole", async () => {
  const { call, type, until, shown } = terminal();
  const decision = call({ note: "x".repeat(5000), to: "Mallory" });
  await until("v shows the whole input: ");
  expect(shown().replaceAll(/\n +/g, "")).toContain('"to":"Mallory"');
  expect(shown().replaceAll(/\n +/g, "")).not.toContain("x".repeat(3000));
  type("v\n");
  await until("whole input: ");
  type("y\n");
  expect(await decision).toEqual(allowed);
  expect(shown().replaceAll(/\n +/g, "")).toContain("x".repeat(5000));
});

test("one question is open at a time, and other output waits", async () => {
  const { call, type, until, screen, shown } = terminal();
  const decisions = [call({ amount: 1 }), call({ amount: 2 })];
  await until('"amount":1');
  let isShown = false;
  screen.show(() => (isShown = true));
  expect([isShown, shown().includes('"amount":2')]).toEqual([false, false]);
  type("n\n");
  await until('"amount":2');
  expect(isShown).toBe(true);
  type("y\n");
  expect(await Promise.all(decisions)).toEqual([denied, allowed]);
});

test("an answer to a question that was withdrawn does not count for the next one", async () => {
  const { call, type, until, shown } = terminal();
  const cancel = new AbortController();
  const first = call({ amount: 1 }, cancel.signal);
  const second = call({ amount: 1_000_000 });
  await until('"amount":1}');
  cancel.abort();
  expect(await first).toEqual({ allow: false });
  await until("Enter shows the next one: ");
  expect(shown()).not.toContain("1000000");
  type("y\n");
  await until('"amount":1000000');
  type("n\n");
  expect(await second).toEqual(denied);
});

test("when the terminal's input ends, this call and all later ones are denied", async () => {
  const { call, until, end, shown } = terminal();
  const decision = call({ amount: 1 });
  await until("Run it?");
  end();
  expect(await decision).toEqual({ allow: false });
  expect(await call({ amount: 2 })).toMatchObject({ allow: false });
  expect(shown()).toContain("Denied: the terminal's input has ended.\n");
  expect(shown()).not.toContain('"amount":2');
});

test("without a terminal calls are denied, and a sentence says so once for each tool", async () => {
  const { call, shown } = terminal({ isTTY: false });
  expect([await call({}), await call({})]).toMatchObject([{ allow: false }, { allow: false }]);
  expect(shown()).toMatch(/^portcullis: pay needs approval\. .*--approve all\.\n$/);
});

test("--approve all and none decide without a question", async () => {
  expect(await terminal({ mode: "all" }).call({})).toEqual({ allow: true, by: "--approve all" });
  const none = terminal({ mode: "none" });
  expect(await none.call({})).toMatchObject({ allow: false, by: "--approve none" });
  expect(none.shown()).toContain("denied by --approve none");
});

const STEERING = ["\n", "\r", "\t", "\u001b[2K\u001b[1A", "\u001b]0;title\u0007", "\u009b2J"];
const UNSEEN = ["\u202e", "\u2066", "\u200b", "\ud800"];
const hostile = fc
  .array(fc.constantFrom(...STEERING, ...UNSEEN, "漢", "x".repeat(30), " ".repeat(30), "Run it? y", '"'), {
    maxLength: 40,
  })
  .map((parts) => parts.join(""));
/** Cells that a line takes, of which a Chinese character takes two. */
const cellsOf = (line: string) => Array.from(line).reduce((sum, one) => sum + (one === "漢" ? 2 : 1), 0);
const STEERS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

test("no input controls the terminal or begins a line, shortened or whole", async () => {
  const input = fc.oneof(
    hostile,
    fc.array(hostile, { maxLength: 3 }),
    fc.dictionary(hostile, fc.oneof(hostile, fc.array(hostile, { maxLength: 2 })), { maxKeys: 30 }),
  );
  await fc.assert(
    fc.asyncProperty(input, async (given) => {
      const { call, type, shown, asked, echo } = terminal();
      const decision = call(given);
      for (const [place, answer] of ["v\n", "y\n"].entries()) {
        await asked(place + 1);
        echo(answer);
        type(answer);
      }
      await decision;
      const lines = shown().split("\n");
      expect(lines.filter((line) => STEERS.test(line))).toEqual([]);
      const own = lines
        .filter((line) => !line.startsWith("  "))
        .map((line) => line.replace(", v shows the whole input", ""));
      expect(own).toEqual([
        "The program calls pay, which needs approval:",
        "Run it? y runs it, g 20 also up to 20 more, n or Enter denies it: v",
        "Run it? y runs it, g 20 also up to 20 more, n or Enter denies it: y",
        "",
      ]);
      expect(lines.filter((line) => line.startsWith("  ") && cellsOf(line) >= 60)).toEqual([]);
    }),
  );
});

test("a program is shown whole, line by line, and no source controls the terminal or begins a line", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(hostile, { maxLength: 60 }), async (texts) => {
      const source = ["await tools.pay({ n: 1 });", ...texts, "return 1;"].join("\n");
      const { answered, shown } = terminal();
      const about = { callId: "program", tool: "run_program" };
      expect(await answered({ source, language: "javascript" }, "y\n", about)).toMatchObject({ allow: true });
      const lines = shown().split("\n");
      expect(lines.filter((line) => STEERS.test(line.replaceAll("\t", "")))).toEqual([]);
      expect(lines.filter((line) => !line.startsWith("  "))).toEqual([
        "A program needs approval before it starts:",
        "Run it? y runs it, n or Enter denies it: ",
      ]);
      expect(lines[1]).toBe("  await tools.pay({ n: 1 });");
      expect(lines.at(-2)).toBe("  return 1;");
    }),
  );
});

test("a call of a tool that is named like the approval of a program is shown as a call", async () => {
  const { answered, shown } = terminal();
  await answered({ source: "1" }, "n\n", { tool: "run_program" });
  expect(shown()).toContain("The program calls run_program, which needs approval:");
});

test("a deeply nested input is asked about too", async () => {
  const { answered, shown } = terminal();
  const deep: unknown = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
  expect(await answered({ deep }, "v\ny\n")).toEqual(allowed);
  expect(shown().length).toBeLessThan(1_000_000);
});

test("g and a number allow further calls, with a sum if one is given; other words ask again", async () => {
  const { call, type, prompted } = terminal();
  const decision = call({ amount: 1 });
  await prompted(1);
  const words = ["g", "g 0", "g -1", "g 20 /amount", "g 20 amount=5", "g 20 /amount=-5"];
  for (const [index, word] of words.entries()) {
    type(`${word}\n`);
    await prompted(index + 2);
  }
  type("g 20 /amount=500\n");
  expect(await decision).toEqual({ ...allowed, grant: { calls: 20, sums: { "/amount": 500 } } });
});

test("a grant is offered with the question, and not where the execution may have no more", async () => {
  const { call, type, prompted, shown } = terminal();
  const decisions = [call({ amount: 1 }), call({ amount: 2 }, undefined, { grantsLeft: 0 })];
  await prompted(1);
  expect(shown()).toContain("y runs it, g 20 also up to 20 more, n or Enter");
  type("y\n");
  await prompted(2);
  type("g 20\n");
  await prompted(3);
  type("y\n");
  expect(await Promise.all(decisions)).toEqual([allowed, allowed]);
});

test("the question says what is left of a grant that the call does not fit", async () => {
  const { answered, shown } = terminal();
  const grants = [{ call: "1", by: "ann", calls: 19, sums: { "/amount": 500 } }];
  expect(await answered({ amount: 600 }, "y\n", { grants })).toEqual(allowed);
  expect(shown().replaceAll(/\s+/g, " ")).toMatch(/19 more calls of pay .*500 of amount/);
});
