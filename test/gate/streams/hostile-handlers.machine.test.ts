import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Tool } from "../../../src/tools/tool.ts";
import { HostWatch } from "../../hostile-support/watch.ts";
import { type Items, read, streamTool } from "./read-stream.ts";

const MIB = 1024 * 1024;
/** Of the longest pause while a short stream is read in the same way. */
const GAP_RATIO = 10;
const LEAST_GAP_MS = 5;

const after = (...values: readonly unknown[]) => [0, 1, ...values];

/** Streams that keep the host busy, if it lets them. */
const BUSY: Readonly<Record<string, readonly [() => unknown, Partial<Tool>?]>> = {
  "an endless list of numbers that come at once": [
    function* () {
      for (let number = 0; ; number += 1) yield number;
    },
  ],
  "an endless async list of nothing": [
    async function* () {
      for (;;) yield null;
    },
  ],
  "an item of a gigabyte": [() => after(Array.from({ length: 10 }, () => "x".repeat(100_000_000)))],
  "an item of a gigabyte, with an output": [
    () => after(Array.from({ length: 10 }, () => "x".repeat(100_000_000))),
    { outputSchema: z.any() },
  ],
  "an item of five million numbers, with an output": [
    () => after(Array.from({ length: 5_000_000 }, () => 1)),
    { outputSchema: z.union([z.number(), z.array(z.number())]) },
  ],
};

/** The longest pause of the host while a stream is read for a while, and the answer if there is one by then. */
async function pauseWhile(items: () => unknown, changes?: Partial<Tool>) {
  const limits = { resultBytes: 32 * MIB, totalBytes: 64 * MIB };
  const { answered, session } = read(
    streamTool(() => items() as Items, changes),
    { limits },
  );
  const watch = new HostWatch();
  const answer = await Promise.race([answered, sleep(300)]);
  const { gapMs } = watch.stop();
  session.close();
  return { gapMs, answer };
}

test.each(Object.entries(BUSY))("the host goes on meanwhile: %s", async (name, [items, changes]) => {
  const made = items();
  const short = await pauseWhile(() => [1, 2, 3]);
  const busy = await pauseWhile(() => (Array.isArray(made) ? made : items()), changes);
  process.stdout.write(`${name}: ${busy.gapMs.toFixed(0)} ms, ${short.gapMs.toFixed(0)} ms with three numbers\n`);
  expect(busy.gapMs / Math.max(LEAST_GAP_MS, short.gapMs)).toBeLessThan(GAP_RATIO);
  if (busy.answer)
    expect(busy.answer).toMatchObject({
      ok: false,
      code: "result_too_large",
      message: expect.stringContaining("Item 2 of") as string,
    });
});
