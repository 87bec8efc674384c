import { afterAll, describe, expect, test } from "vitest";
import type { Language } from "../../bridge/frames.ts";
import type { Report } from "../../src/executions/output/report.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { patientClock } from "../support/clock.ts";
import { broken, echo, later, signal, tool } from "../support/tools.ts";
import { LANGUAGE_CASES } from "./language-cases.ts";

const hang = () => new Promise(() => {});

/** What executing programs promises in every language, on any sandbox. Those that are replayed are recorded on another one. */
export function executeSuite(language: Language, sandbox: Sandbox, recorded: Sandbox = sandbox): void {
  afterAll(() => Promise.all([sandbox[Symbol.asyncDispose](), recorded[Symbol.asyncDispose]()]));
  const cases = LANGUAGE_CASES[language];
  const start = (...tools: readonly Tool[]) => createRuntime({ sandbox, tools: [echo, later, broken, ...tools] });

  describe("ordinary programs complete, and replay", () => {
    test.each(cases.ordinary)("a program that $does", { timeout: 120_000 }, async ({ program, returns }) => {
      const { outcome } = await executeAndReplay(program);
      expect(outcome).toEqual({ type: "completed", value: returns });
    });
  });

  test("calls that are made at the same time overlap", async () => {
    const allAreThere = signal();
    let waiting = 0;
    const meet = tool("meet", async () => {
      waiting += 1;
      if (waiting === 50) allAreThere.happen();
      await allAreThere.happened;
      return null;
    });
    await using runtime = await start(meet);
    const { outcome } = await runtime.execute(cases.meets, { language });
    expect(outcome).toEqual({ type: "completed", value: 50 });
  });

  test("a read that is not awaited is aborted when the program ends, with a note", async () => {
    const aborted = signal();
    const slow = tool(
      "slow",
      (_input, { signal: end }) => new Promise(() => end.addEventListener("abort", aborted.happen)),
    );
    await using runtime = await start(slow);
    const report = await runtime.execute(cases.leavesRead, { language });
    expect(report.outcome).toEqual({ type: "completed", value: "done" });
    expect(report.notes).toEqual(["1 call of slow was not awaited and ended with the program."]);
    await aborted.happened;
  });

  test.each(cases.leavesWrite)("a write that is not awaited fails the program: %j", async (program) => {
    let begun = 0;
    const pay = tool("pay", () => ((begun += 1), hang()), { effect: "write" });
    await using runtime = await start(pay);
    const { outcome, output } = await runtime.execute(program, { language });
    expect(outcome).toMatchObject({ type: "failed", fault: { code: "calls_not_awaited" } });
    expect(output.text.includes("Started, and may have taken effect: pay.")).toBe(begun > 0);
  });

  test("what a handler threw stays on the host, where onEvent receives it", async () => {
    const errors: unknown[] = [];
    await using runtime = await createRuntime({
      sandbox,
      tools: [broken],
      onEvent: (event) => event.type === "call_ended" && errors.push(event.error),
    });
    const report = await runtime.execute(cases.fails, { language });
    expect(report.outcome).toMatchObject({
      type: "failed",
      fault: { name: "ToolError", code: "handler_failed", tool: "broken", line: 1, column: 8 },
    });
    expect(JSON.stringify(report)).not.toMatch(/hunter2|shadow/);
    expect(errors).toEqual([expect.objectContaining({ message: "the password is hunter2, see /etc/shadow" })]);
  });

  test("a program that awaits a promise that nothing can settle fails at once", async () => {
    await using runtime = await start();
    const { outcome } = await runtime.execute(cases.neverSettles, { language });
    expect(outcome).toMatchObject({ type: "failed", fault: { code: "never_settles" } });
  });

  test("an aborted signal cancels, and the program's last output is kept", async () => {
    patientClock();
    const called = signal();
    const hangs = tool("hang", () => {
      called.happen();
      return hang();
    });
    await using runtime = await start(hangs);
    const cancel = new AbortController();
    const running = runtime.execute(cases.saysGoodbye, { language, signal: cancel.signal });
    await called.happened;
    cancel.abort();
    const report = await running;
    expect(report.outcome).toEqual({ type: "cancelled" });
    expect(report.logs.text).toBe("goodbye\n");
    expect(report.output.isError).toBe(true);
  });

  test("a signal that is aborted before the start starts nothing", async () => {
    await using runtime = await start();
    const { outcome, usage } = await runtime.execute(cases.returnsEcho, { language, signal: AbortSignal.abort() });
    expect(outcome).toEqual({ type: "cancelled" });
    expect(usage.calls).toBe(0);
  });

  test("the calls limit refuses the next call, which the program may catch", async () => {
    await using runtime = await start();
    const { outcome } = await runtime.execute(cases.catchesLimit, { language, limits: { calls: 3 } });
    expect(outcome).toEqual({ type: "completed", value: [[0, 1, 2], "budget_spent"] });
  });

  test("a program that does not catch the refusal is stopped by the calls limit", async () => {
    await using runtime = await start();
    const { outcome } = await runtime.execute(cases.callsForever, { language, limits: { calls: 3 } });
    expect(outcome).toEqual({ type: "stopped", limit: "calls", allowed: 3, seen: 4 });
  });

  test("the sum of inputs and results is bounded by totalBytes", async () => {
    await using runtime = await start(tool("big", () => "x".repeat(1000)));
    const { outcome } = await runtime.execute(cases.callsBigForever, { language, limits: { totalBytes: 5000 } });
    expect(outcome).toMatchObject({ type: "stopped", limit: "totalBytes", allowed: 5000 });
  });

  test.each(cases.stopped)("%j is stopped by its limit, %s", async (program, limit) => {
    await using runtime = await start(tool("hang", hang));
    const limits = { calls: 3, outputBytes: 512, wallMs: limit === "wallMs" ? 300 : 20_000 };
    const allowed = limit in limits ? { allowed: limits[limit as keyof typeof limits] } : {};
    const { outcome } = await runtime.execute(program, { language, limits });
    expect(outcome).toMatchObject({ type: "stopped", limit, ...allowed });
  });

  test("printed text is bounded by its bytes of UTF-8, and a line that is too long is cut at a character", async () => {
    const logBytes = 1024;
    const limits = { outputBytes: 2 * logBytes };
    await using runtime = await start();
    const lines = await runtime.execute(cases.printsLines, { language, limits });
    expect(lines.outcome.type).toBe("completed");
    expect(lines.logs.text).toContain("0 語語語語語語語語語語語");
    expect(lines.logs.text).toContain("499 語語語語語語語語語語語");
    expect(lines.logs.bytes).toBeGreaterThan(1.8 * logBytes);
    expect(lines.logs.bytes).toBeLessThanOrEqual(2 * logBytes + 40);
    const line = await runtime.execute(cases.printsLongLine, { language, limits });
    expect(line.outcome.type).toBe("completed");
    expect(line.logs.text).toBe(
      `x${"😀".repeat(111)}… [${2 * (5000 - 111 - 112)} characters of this line left out] …${"😀".repeat(112)}\n`,
    );
    const [kept] = line.artifacts;
    expect([kept?.name, await kept?.read()]).toEqual(["printed", `x${"😀".repeat(5000)}\n`]);
  });

  test("what is printed over logBytes is kept whole, and over printedBytes as its lines from both ends", async () => {
    await using runtime = await start();
    const limits = { outputBytes: 1024 };
    const whole = await runtime.execute(cases.printsTables(60), { language, limits });
    expect(whole.logs).toMatchObject({ lines: 3000 });
    expect(whole.output.text).toMatch(/kept for the host as printed\. .*:\n {2}0 /);
    expect(whole.output.cut).toEqual({ logLines: whole.logs.dropped });
    const text = String(await whole.artifacts[0]?.read());
    expect(text.split("\n").map((line) => line.split(" ")[0])).toEqual([
      ...Array.from({ length: 3000 }, (_, n) => String(n % 50)),
      "",
    ]);
    const long = await runtime.execute(cases.printsTables(2000), { language, limits });
    expect(long.outcome.type).toBe("completed");
    expect(long.logs).toMatchObject({ lines: 100_000 });
    const kept = String(await long.artifacts[0]?.read());
    expect(kept).toMatch(/^0 [^]*\n… \d+ lines left out …\n[^]*\n49 x{10}\n$/);
    expect(Buffer.byteLength(kept)).toBeGreaterThan(1_040_000);
  });

  test("of a long error the beginning and the end are told, and how much is between them", async () => {
    await using runtime = await start();
    const { outcome, output } = await runtime.execute(cases.failsAtLength, { language });
    expect(outcome).toMatchObject({
      type: "failed",
      fault: { message: expect.stringMatching(/^begins😀*.?… \d+ characters left out ….?😀*ends$/u) as string },
    });
    expect(output.text).toContain("begins");
    expect(output.text).toContain("ends");
  });

  test("a value over outputBytes is a stub, in the outcome too", async () => {
    await using runtime = await start();
    const { outcome, output } = await runtime.execute(cases.returnsList, { language, limits: { outputBytes: 512 } });
    expect(outcome).toMatchObject({ type: "completed", value: { count: 1000, shape: "{ n: number }[]" } });
    expect(JSON.parse(output.text)).toEqual((outcome as { value: unknown }).value);
    expect(output.cut).toEqual({ valueBytes: 9891 });
  });

  test(`${cases.mixed.calls} mixed calls replay`, { timeout: 300_000 }, async () => {
    const { calls, program } = cases.mixed;
    const { outcome, usage } = await executeAndReplay(program);
    expect(outcome).toMatchObject({ type: "completed", value: { calls } });
    expect(usage.calls).toBe(calls);
  });

  /** Runs a program. Its journal leads to the same commands in a new guest, byte for byte. */
  async function executeAndReplay(program: string): Promise<Report> {
    // On a machine with much else to do, the longest of these programs needs more than the default.
    const limits = { cpuMs: 60_000 };
    await using runtime = await createRuntime({ sandbox: recorded, tools: [echo, later, broken], limits });
    const report = await runtime.execute(program, { language });
    await using replaying = await createRuntime({ sandbox, tools: [], journal: runtime.journal, limits });
    expect(await replaying.execution(report.execution).replay()).toEqual({ type: "identical" });
    return report;
  }
}
