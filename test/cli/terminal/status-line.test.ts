import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pause } from "../../../src/clock.ts";
import { someOf } from "../../support/all-tests.ts";
import { Screen } from "../../../src/cli/terminal/screen.ts";
import { standardStreams, useStreams, writeStderr, writeStdout } from "../../../src/cli/terminal/standard-streams.ts";
import { endStatusLines, showing, statusLine } from "../../../src/cli/terminal/status-line.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";

const CLEAR = "\r\u001b[2K";

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
  vi.stubEnv("TERM", "xterm");
});
afterEach(() => {
  endStatusLines();
  useStreams(process);
});

/** Streams of a command, and what is written to both of them. */
function use({ isTTY = true, columns = 80 } = {}) {
  const written: string[] = [];
  const stream = { isTTY, columns, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
  useStreams({ stdin: process.stdin, stdout: stream as never, stderr: stream as never });
  return { written, shown: () => written.join("") };
}

/** What a terminal shows after these texts in its last line. */
function lastLine(text: string): string {
  return text.split("\n").at(-1)?.split(CLEAR).at(-1) ?? "";
}

test("work of more than a moment shows what it is and how long it has taken, and nothing when it has ended", async () => {
  const { written, shown } = use();
  const work = Promise.withResolvers<number>();
  const shownWork = showing("Reading", () => work.promise);
  expect(written).toEqual([]);
  clock.pass(1200);
  expect(lastLine(shown())).toBe("Reading, 1.2 s");
  work.resolve(7);
  expect(await shownWork).toBe(7);
  expect(lastLine(shown())).toBe("");
  expect(clock.timers).toBe(0);
});

test.each([
  ["a pipe or a file", false, "xterm"],
  ["a terminal that cannot move its cursor", true, "dumb"],
])("%s gets nothing", async (_, isTTY, term) => {
  vi.stubEnv("TERM", term);
  const { written } = use({ isTTY });
  const done = showing("Reading", () => pause(5000));
  clock.pass(5000);
  await done;
  expect(written).toEqual([]);
});

test("nothing is left after work that fails", async () => {
  const { shown } = use();
  const work = Promise.withResolvers<never>();
  const failing = showing("Reading", () => work.promise);
  clock.pass(300);
  work.reject(new Error("no"));
  await expect(failing).rejects.toThrow("no");
  expect(lastLine(shown())).toBe("");
});

test("what the command writes takes the place of the line, which comes again below", () => {
  const { shown } = use();
  using _ = statusLine(() => "working");
  clock.pass(100);
  writeStdout("one\n");
  expect(shown()).toBe(`${CLEAR}working${CLEAR}one\n`);
  writeStderr("two\n");
  clock.pass(100);
  expect(shown()).toBe(`${CLEAR}working${CLEAR}one\ntwo\n${CLEAR}working`);
});

test("a line that the command has begun is not written over", () => {
  const { shown } = use();
  using _ = statusLine(() => "working");
  writeStdout("The answer");
  clock.pass(500);
  expect(shown()).toBe("The answer");
  writeStdout(" is 7.\n");
  clock.pass(100);
  expect(shown()).toBe(`The answer is 7.\n${CLEAR}working`);
});

test("of two lines the later is shown, and then the earlier again", () => {
  const { shown } = use();
  using _ = statusLine(() => "outer");
  const inner = statusLine(() => "inner");
  clock.pass(100);
  expect(lastLine(shown())).toBe("inner");
  inner[Symbol.dispose]();
  clock.pass(100);
  expect(lastLine(shown())).toBe("outer");
});

test("a question that is open has the terminal for itself", () => {
  const { written } = use();
  const screen = new Screen();
  const line = statusLine(() => "working", { screen });
  const question = screen.take();
  clock.pass(1000);
  line[Symbol.dispose]();
  expect(written).toEqual([]);
  question[Symbol.dispose]();
});

test("a text that is long, of several lines, or an attack on the terminal stays in one line of it", () => {
  const { shown } = use({ columns: 30 });
  using _ = statusLine(() => `\u001b[2J${"x\n".repeat(50)}漢漢`);
  clock.pass(100);
  const line = lastLine(shown());
  expect(line).toHaveLength(29);
  expect(line).not.toMatch(/[\u001b\n]/);
});

test.skipIf(process.platform === "win32").each(someOf(["SIGINT", "SIGTERM", "SIGHUP"] as const, 1))(
  "%s ends a process that shows a line, and leaves nothing of the line",
  async (signal) => {
    const source = new URL("../../../src/cli/terminal/status-line.ts", import.meta.url).href;
    const program = `const { statusLine } = await import(${JSON.stringify(source)});
process.stderr.isTTY = true;
using _ = statusLine(() => "working");
setInterval(() => {}, 1000);
await new Promise(() => {});`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let shown = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (!shown.includes("working") && text.includes("working")) child.kill(signal);
      shown += text;
    });
    const [, by] = (await once(child, "close")) as [number | null, string | null];
    expect(by).toBe(signal);
    expect(shown).toContain("working");
    expect(lastLine(shown)).toBe("");
  },
);

test("a signal that the command itself handles does not end the process", () => {
  const { shown } = use();
  const handled = vi.fn<() => void>();
  process.once("SIGHUP", handled);
  using _ = statusLine(() => "working");
  clock.pass(100);
  process.emit("SIGHUP", "SIGHUP");
  expect(handled).toHaveBeenCalledOnce();
  expect(lastLine(shown())).toBe("");
});

test.each<readonly [string, string | Uint8Array]>([
  ["a text", "a handler logs\n"],
  ["bytes", Buffer.from("a handler logs\n")],
])("%s that other code writes to the terminal takes the place of the line, too", (_, chunk) => {
  const { written, shown } = use();
  const { stderr } = standardStreams();
  // oxlint-disable-next-line typescript/unbound-method
  const before = stderr.write;
  const outer = statusLine(() => "working");
  const inner = statusLine(() => "reading");
  clock.pass(300);
  stderr.write(chunk);
  expect(written.at(-2)).toBe(CLEAR);
  expect(lastLine(shown())).toBe("");
  clock.pass(300);
  expect(lastLine(shown())).toBe("reading");
  stderr.write("not ended");
  clock.pass(300);
  expect(lastLine(shown())).toBe("not ended");
  inner[Symbol.dispose]();
  outer[Symbol.dispose]();
  // oxlint-disable-next-line typescript/unbound-method
  expect(stderr.write).toBe(before);
});
