import { expect, test } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { makeTool } from "../../support/tools.ts";

const MIB = 1024 * 1024;
const RESULTS = 150;

const page = makeTool({ name: "page", execute: () => "x".repeat(1_000_000) });

test("the results that a program has dropped do not count as its memory, and it has no function that collects them", async () => {
  const journal = createMemoryJournal({ keepLength: Number.POSITIVE_INFINITY });
  await using runtime = await createRuntime({ tools: [page], journal, limits: { totalBytes: 512 * MIB } });
  const { outcome, usage, execution } = await runtime.execute(`
    let length = 0;
    for (let n = 0; n < ${RESULTS}; n += 1) length += (await tools.page({})).length;
    return [length, typeof gc];`);
  expect(outcome).toEqual({ type: "completed", value: [RESULTS * 1_000_000, "undefined"] });
  // Memory can be read on Linux only.
  expect(usage.peakMemoryBytes / MIB).toBeLessThan(100);
  expect(await runtime.execution(execution).replay()).toEqual({ type: "identical" });
});
