import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import type { Language } from "../../bridge/frames.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { makeTool, testOfAll } from "../support/index.ts";
import { STREAM_CASES } from "./stream-cases.ts";

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
    await using runtime = await createRuntime({ sandbox, tools: [rows, double] });
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

  const completed = (value: unknown) => ({ outcome: { type: "completed", value } });
  const failed = (words: string) => ({
    outcome: { type: "failed", fault: { message: expect.stringContaining(words) as string } },
  });
  often.each<[string, keyof typeof cases, object]>([
    ["an error in the loop ends the generator", "throws", { ...failed("mine"), ended: ["1, aborted"] }],
    ["two streams are read side by side", "merges", { ...completed(3000), calls: [["rows"], ["rows"]] }],
    ["other calls are awaited while a stream is read", "awaitsMeanwhile", completed(2 * (999 * 500))],
    ["an error of the handler comes after the items before it", "catches", completed([1500, "handler_failed"])],
    ["a refused call tells so where the stream is read", "refused", completed("input_invalid")],
    ["a stream that is read by two loops is refused", "readsTwice", failed("a stream is read once")],
    ["a stream that is returned is refused", "returns", failed("the stream of tools.rows(")],
    ["a stream that is used as a list is refused", "usesAsList", failed("gives a stream of items")],
    [
      "a stream that is never read is noted",
      "neverReads",
      { ...completed(1), output: { text: expect.stringMatching(/never read .*rows/) as string } },
    ],
  ])("%s", async (_, name, expected) => {
    const { calls, ...ran } = await run(cases[name]);
    expect({ ...ran, calls: calls.map(([tool]) => [tool]) }).toMatchObject(expected);
  });
}
