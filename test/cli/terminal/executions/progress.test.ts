import { beforeEach, expect, test, vi } from "vitest";
import { showProgress } from "../../../../src/cli/terminal/executions/progress.ts";
import { Screen } from "../../../../src/cli/terminal/screen.ts";
import { type ManualClock, manualClock } from "../../../support/clock.ts";

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
  vi.stubEnv("TERM", "xterm");
});

function stream(isTTY: boolean) {
  const written: string[] = [];
  return { written, stream: { isTTY, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream };
}

const started = (callId: string) =>
  ({ type: "call_started", execution: "e", callId, tool: "t", caller: "programmatic", at: 0 }) as const;
const ended = (callId: string, bytes: number) =>
  ({
    type: "call_ended",
    execution: "e",
    callId,
    tool: "t",
    caller: "programmatic",
    ms: 1,
    bytes,
    outcome: { type: "value", shape: "object" },
    started: true,
    at: 0,
  }) as const;

test("on a terminal one line is updated, and removed at the end", () => {
  const { written, stream: terminal } = stream(true);
  const progress = showProgress(terminal);
  progress.onEvent(started("1"));
  progress.onEvent(started("2"));
  progress.onEvent(ended("1", 2048));
  clock.pass(100);
  progress.end();
  expect(written).toEqual(["\r\u001b[2K1 call done, 1 open, 2 KiB in, 0.1 s", "\r\u001b[2K"]);
});

test("without a terminal nothing is shown, however long it takes", () => {
  const { written, stream: file } = stream(false);
  const progress = showProgress(file);
  progress.onEvent(ended("1", 10));
  clock.pass(4000);
  progress.end();
  clock.pass(4000);
  expect(written).toEqual([]);
});

test("nothing is shown while a question is open", () => {
  const { written, stream: terminal } = stream(true);
  const screen = new Screen();
  const progress = showProgress(terminal, screen);
  const question = screen.take();
  clock.pass(1000);
  expect(written).toEqual([]);
  question[Symbol.dispose]();
  clock.pass(100);
  progress.end();
  expect(written).toHaveLength(2);
});

test("open streams are shown with their items and bytes so far, which are in the sum until their calls have ended", () => {
  const { written, stream: terminal } = stream(true);
  const progress = showProgress(terminal);
  const streamed = (callId: string, items: number, bytes: number) =>
    ({ ...started(callId), type: "call_streamed", items, bytes }) as const;
  progress.onEvent(started("1"));
  progress.onEvent(streamed("1", 1, 100));
  progress.onEvent(streamed("1", 12_000, 2.5 * 1024 ** 2));
  clock.pass(100);
  progress.onEvent(started("2"));
  progress.onEvent(streamed("2", 1, 512 * 1024));
  clock.pass(100);
  progress.onEvent(ended("1", 3 * 1024 ** 2));
  progress.onEvent(ended("2", 1024 ** 2));
  clock.pass(100);
  progress.end();
  expect(written).toEqual([
    "\r\u001b[2K0 calls done, 1 open, 2.5 MiB in, stream of 12,000 items, 2.5 MiB so far, 0.1 s",
    "\r\u001b[2K0 calls done, 2 open, 3 MiB in, 2 streams of 12,001 items, 3 MiB so far, 0.2 s",
    "\r\u001b[2K2 calls done, 0 open, 4 MiB in, 0.3 s",
    "\r\u001b[2K",
  ]);
});
