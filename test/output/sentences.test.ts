import { expect, test } from "vitest";
import { byteText } from "../../src/output/byte-text.ts";
import { amount, endingText } from "../../src/output/sentences.ts";
import { DEFAULT_LIMITS } from "../../src/programs/limits.ts";
import type { CrashCode, StoppedBy } from "../../src/programs/outcome.ts";

const STOPPED: { readonly [Name in StoppedBy]: string } = {
  memoryBytes:
    "it needed more memory than 128 MiB (limit memoryBytes). Keep less at once: reduce each result to what is needed as it arrives.",
  queueMs: "no engine was free for it within 60 s (limit queueMs). None of it ran. Run it again later, unchanged.",
  queue:
    "the number of programs waiting for an engine had reached 1000 (limit queue). None of it ran. Run it again later, unchanged.",
  runningMs:
    "it ran longer than 10 s (limit runningMs). Look for a loop that does not end, or for work that grows with the square of the data.",
  wallMs:
    "it took longer than 120 s (limit wallMs). Make calls concurrently instead of one after the other, or ask for less.",
  calls: "it made more calls than 10000 (limit calls). Fetch more with each call, or ask for less.",
  callsAtOnce: "it made more calls at once than 64 (limit callsAtOnce). Make fewer calls at once.",
  inputBytes:
    "the input of a call was larger than 1 MiB (limit inputBytes). Pass less, or split it into several calls.",
  inputValues:
    "the input of a call held more values than 40000 (limit inputValues). Pass less, or split it into several calls.",
  resultValues:
    "the result of a call held more values than 4000000 (limit resultValues). Ask for less: fewer fields, a filter, or page by page.",
  resultBytes:
    "the result of a call was larger than 32 MiB (limit resultBytes). Ask for less: fewer fields, a filter, or page by page.",
  totalBytes:
    "its calls moved more data than 48 MiB (limit totalBytes). Ask tools for less: fewer fields, filters, fewer rows.",
  heldBytes:
    "the executions of this runtime used up the memory they share, 64 MiB (limit heldBytes). Make fewer calls at once, ask tools for less, or run it again later.",
  outputBytes:
    "the value it returned was far larger than 16 KiB (limit outputBytes). Return the answer, not the data: select, aggregate or count in the program.",
  logBytes: "it printed more than 8 KiB (limit logBytes). Print less.",
  printedBytes: "it printed more than 1 MiB (limit printedBytes). Print less.",
  partBytes:
    "the images and files of a result were larger than 8 MiB (limit partBytes). Ask for fewer or smaller ones.",
  artifactBytes:
    "a value that it kept was larger than 32 MiB (limit artifactBytes). Keep less, or split it into several.",
  streams:
    "it had more streams open than 64 (limit streams). Read one to its end, or leave its loop, before you open another.",
  streamBytes:
    "the items of a stream took more than 1 GiB (limit streamBytes). Leave the loop earlier, or ask for less: fewer fields, or a filter.",
  artifacts:
    "it kept values under more names than 100 (limit artifacts). Use a name again, or keep several values in one.",
  frameBytes:
    "a value that it returned or passed on was larger than 8 MiB (limit frameBytes). Return the answer, not the data: select, aggregate or count in the program.",
};

test.each(Object.keys(STOPPED) as StoppedBy[])("a program stopped by %s is told so, and what to do", (limit) => {
  const ending = {
    type: "stopped",
    limit,
    allowed: { ...DEFAULT_LIMITS, queue: 1000, heldBytes: 64 * 1024 * 1024 }[limit],
    seen: 1,
  } as const;
  expect(endingText(ending, undefined, false)).toBe(`The program was stopped: ${STOPPED[limit]}`);
});

const CRASHED: { readonly [Code in CrashCode]: string } = {
  engine_died:
    "The program could not be finished: its engine died, and no other engine could resume it. If this happens again, write the program differently.",
  bridge_broken: "The program could not be finished: it sent data that the host could not read, and was stopped.",
  replay_diverged:
    "The program could not be finished: its engine died, and its replay in another engine took a different course. If it catches out-of-memory or stack-overflow errors, which need not occur at the same place each time, bound its data and its recursion instead.",
};

test.each(Object.keys(CRASHED) as CrashCode[])(
  "a crash by %s is told without what only the operator should know",
  (code) => {
    expect(endingText({ type: "crashed", code, detail: "a secret of the host" }, undefined, true)).toBe(CRASHED[code]);
  },
);

test("a cancelled execution is told so", () => {
  expect(endingText({ type: "cancelled" }, undefined, true)).toBe("The execution was cancelled.");
});

test.each([
  [{}, undefined, "TypeError: No."],
  [{}, "Do this.", "TypeError: No.\nDo this."],
  [{ line: 2, column: 5 }, undefined, "TypeError at line 2, column 5: No."],
  [{ line: 2, column: 5, excerpt: "a.b()" }, "Do this.", "TypeError at line 2, column 5: No.\n  2 | a.b()\nDo this."],
  [{ excerpt: "a.b()" }, undefined, "TypeError: No."],
])("a fault (%j, hint %j) is told as a compiler would", (place, hint, text) => {
  expect(endingText({ type: "failed", fault: { name: "TypeError", message: "No.", ...place } }, hint, true)).toBe(text);
});

test.each([
  ["runningMs", 1500, "1500 ms"],
  ["wallMs", 3000, "3 s"],
  ["calls", 12, "12"],
  ["inputBytes", 2048, "2 KiB"],
] as const)("of %s, %i is %s", (limit, value, text) => {
  expect(amount(limit, value)).toBe(text);
});

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1 KiB"],
  [1536, "1.5 KiB"],
  [1024 ** 2, "1 MiB"],
  [5.25 * 1024 ** 3, "5.3 GiB"],
  [2048 * 1024 ** 3, "2048 GiB"],
])("%i bytes are %s", (bytes, text) => {
  expect(byteText(bytes)).toBe(text);
});
