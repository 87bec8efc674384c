import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import type { Language } from "../../bridge/frames.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { testOfAll } from "../support/all-tests.ts";
import { STREAM_CASES } from "./stream-cases.ts";
import { makeTool } from "../support/tools.ts";

/** What reading streams promises in every language, on any sandbox. Guests in containers read one and leave one in `make test`. */
export function streamsSuite(language: Language, sandbox: Sandbox, guests?: "containers"): void {
  const often = guests === "containers" ? testOfAll : test;
  afterAll(() => sandbox[Symbol.asyncDispose]());
  const cases = STREAM_CASES[language];

  /** Runs a program, replays it, and tells how each generator ended. */
  async function run(program: string) {
    const ended: string[] = [];
    const rows = makeTool({
      name: "rows",
      description: "Gives rows, and fails after some if told so",
      inputSchema: z.object({ n: z.number(), fails_at: z.number().optional() }),
      outputSchema: z.object({ id: z.number() }),
      stream: true,
      async *execute({ n, fails_at: failsAt }, { callId, signal }) {
        try {
          for (let id = 0; id < n; id += 1) {
            if (id === failsAt) throw new Error("It is out of rows.");
            yield { id };
          }
        } finally {
          ended.push(`${callId}${signal.aborted ? ", aborted" : ""}`);
        }
      },
    });
    const double = makeTool({ name: "double", inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n * 2 });
    const journal = createMemoryJournal();
    await using runtime = await createRuntime({ sandbox, journal, tools: [rows, double] });
    const report = await runtime.execute(program, { language, id: "one" });
    expect(await runtime.execution("one").replay()).toEqual({ type: "identical" });
    const calls = report.calls.map(({ tool, items }) => [tool, items]);
    return { ...report, ended, calls };
  }

  test("a stream is read to its end", async () => {
    const { outcome, calls, ended } = await run(cases.sum);
    expect(outcome).toEqual({ type: "completed", value: [2500, 3_123_750] });
    expect(calls).toEqual([["rows", 2500]]);
    expect(ended).toEqual(["1"]);
  });

  test("a loop that is left ends the generator, and the program goes on", async () => {
    const { outcome, calls, ended } = await run(cases.leaves);
    expect(outcome).toEqual({ type: "completed", value: [10, 8] });
    expect(calls[0]?.[0]).toBe("rows");
    expect(calls[0]?.[1]).toBeLessThanOrEqual(2000);
    expect(ended).toEqual(["1, aborted"]);
  });

  often("an error in the loop ends the generator", async () => {
    const { outcome, ended } = await run(cases.throws);
    expect(outcome).toMatchObject({ type: "failed", fault: { message: expect.stringContaining("mine") as string } });
    expect(ended).toEqual(["1, aborted"]);
  });

  often("two streams are read side by side", async () => {
    const { outcome, calls } = await run(cases.merges);
    expect(outcome).toEqual({ type: "completed", value: 3000 });
    expect(calls).toHaveLength(2);
  });

  often("other calls are awaited while a stream is read", async () => {
    const { outcome } = await run(cases.awaitsMeanwhile);
    expect(outcome).toEqual({ type: "completed", value: 2 * (999 * 500) });
  });

  often("an error of the handler comes after the items before it, and can be caught", async () => {
    const { outcome } = await run(cases.catches);
    expect(outcome).toEqual({ type: "completed", value: [1500, "handler_failed"] });
  });

  often("a refused call tells so where the stream is read", async () => {
    const { outcome } = await run(cases.refused);
    expect(outcome).toEqual({ type: "completed", value: "input_invalid" });
  });

  often("a stream that is read by two loops is refused with a sentence", async () => {
    const { outcome } = await run(cases.readsTwice);
    expect(outcome).toMatchObject({
      type: "failed",
      fault: { message: expect.stringContaining("a stream is read once") as string },
    });
  });

  often("a stream that is returned is refused with a sentence", async () => {
    const { outcome } = await run(cases.returns);
    expect(outcome).toMatchObject({
      type: "failed",
      fault: { message: expect.stringContaining("the stream of tools.rows(") as string },
    });
  });

  often("a stream that is used as a list is refused with a sentence", async () => {
    const { outcome } = await run(cases.usesAsList);
    expect(outcome).toMatchObject({
      type: "failed",
      fault: { message: expect.stringContaining("gives a stream of items") as string },
    });
  });

  often("a stream that is never read is noted", async () => {
    const { outcome, output } = await run(cases.neverReads);
    expect(outcome).toEqual({ type: "completed", value: 1 });
    expect(output.text).toMatch(/never read .*rows/);
  });
}
