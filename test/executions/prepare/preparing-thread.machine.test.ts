import { performance } from "node:perf_hooks";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { prepare } from "../../../src/executions/prepare/prepare.ts";
import { PROGRAM_BYTES } from "../../../src/executions/prepare/refuse-text.ts";
import { processorMs } from "../../support/slowness.ts";
import { HARD } from "./hard-programs.ts";

/** Of the processor time of the host's thread that programs without a fault take, all read by the other thread. */
const RATIO = 20;
const LEAST_MS = 10;

/** The host's processor time for programs that are read at once, as many as one deadline has room for. */
async function ordinaryMs(): Promise<number> {
  const ms = await processorMs(async () => {
    for (let run = 0; run < 10; run += 1) await prepare("let a: number = 1");
  });
  return Math.max(LEAST_MS, ms);
}

test.each(HARD)("a program that takes too long to read takes little of the host's thread: %s", async (_, code) => {
  const ordinary = await ordinaryMs();
  const before = performance.eventLoopUtilization();
  const ms = await processorMs(() => prepare(code));
  const { utilization } = performance.eventLoopUtilization(before);
  process.stdout.write(
    `${ms.toFixed(0)} ms, ${ordinary.toFixed(0)} ms for ten ordinary ones; loop ${utilization.toFixed(2)}\n`,
  );
  expect(ms / ordinary).toBeLessThan(RATIO);
});

/** Regular expressions of all that acorn reads, each part of which may hold or repeat others. */
const PATTERNS = fc.letrec<Record<"pattern", string>>((tie) => ({
  pattern: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("a", "[^a-z]", "\\p{L}", "(?<a>)", "(?<b>x)", "\\k<a>", "(?<=a)", "(?i:b)", "[a&&b]", "\\u{1f600}"),
    fc.array(tie("pattern"), { maxLength: 4 }).map((parts) => parts.join("")),
    fc.array(tie("pattern"), { maxLength: 4 }).map((parts) => parts.join("|")),
    fc.tuple(fc.constantFrom("(", "(?:", "(?<a>", "(?=", "(?<!"), tie("pattern")).map((parts) => `${parts.join("")})`),
    fc.tuple(tie("pattern"), fc.constantFrom("*", "+?", "{2,3}")).map((parts) => parts.join("")),
  ),
})).pattern;

test("no regular expression of a program takes more of the host's thread than a message to another one", async () => {
  const ordinary = await ordinaryMs();
  await fc.assert(
    fc.asyncProperty(
      PATTERNS,
      PATTERNS,
      fc.constantFrom("", "u", "v"),
      fc.integer({ min: 1, max: 12 }),
      async (inner, around, flags, doublings) => {
        let pattern = inner;
        for (let count = 0; count < doublings && pattern.length < PROGRAM_BYTES / 4; count += 1)
          pattern = count % 2 === 0 ? `(?:${pattern}|${around})${pattern}` : `${pattern}|${pattern}`;
        const source = `return /${pattern}/${flags};`;
        expect((await processorMs(() => prepare(source))) / ordinary).toBeLessThan(RATIO);
      },
    ),
    { numRuns: 25, interruptAfterTimeLimit: 20_000 },
  );
});
