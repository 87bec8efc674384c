import { afterAll, describe, expect, test } from "vitest";
import { createRuntime, type Runtime } from "../../src/runtime.ts";
import type { TurnRecord } from "../../src/journal/record.ts";
import { replay } from "../../src/programs/replay.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { broken, echo, later, signal, tool } from "../support/tools.ts";
import { ORDINARY_PROGRAMS } from "./ordinary-programs.ts";

/** What executing programs promises, on any sandbox. */
export function executeSuite(sandbox: Sandbox): void {
  afterAll(() => sandbox[Symbol.asyncDispose]());
  const start = (...tools: Parameters<typeof createRuntime>[0]["tools"]) =>
    createRuntime({ sandbox, tools: [echo, later, broken, ...tools] });

  describe("ordinary programs complete, and replay from every prefix", () => {
    test.each(ORDINARY_PROGRAMS)("one that $does", async ({ program, returns }) => {
      await using runtime = await start();
      const { outcome, execution } = await runtime.execute(program);
      expect(outcome).toEqual({ type: "completed", value: returns });
      await expectReplay(runtime, execution);
    });
  });

  test("calls that are made at once really overlap", async () => {
    const everybodyIsThere = signal();
    let waiting = 0;
    const meet = tool("meet", async () => {
      waiting += 1;
      if (waiting === 50) everybodyIsThere.happen();
      await everybodyIsThere.happened;
      return null;
    });
    await using runtime = await start(meet);
    const { outcome } = await runtime.execute(
      "return (await Promise.all(Array.from({ length: 50 }, () => tools.meet()))).length;",
    );
    expect(outcome).toEqual({ type: "completed", value: 50 });
  });

  test("a read that nobody awaits is aborted with the program, and noted", async () => {
    const aborted = signal();
    const slow = tool(
      "slow",
      (_input, { signal: end }) => new Promise(() => end.addEventListener("abort", aborted.happen)),
    );
    await using runtime = await start(slow);
    const report = await runtime.execute("tools.slow();\nawait tools.echo();\nreturn 'done';");
    expect(report.outcome).toEqual({ type: "completed", value: "done" });
    expect(report.notes).toEqual(["1 call of slow was not awaited and ended with the program."]);
    await aborted.happened;
  });

  test.each(["tools.pay();\nawait tools.echo();\nreturn 'done';", "tools.pay();\nreturn 'done';"])(
    "a write that nobody awaits fails the program: %j",
    async (program) => {
      const pay = tool("pay", () => new Promise(() => {}), { effect: "write" });
      await using runtime = await start(pay);
      const { outcome } = await runtime.execute(program);
      expect(outcome).toMatchObject({ type: "failed", fault: { code: "calls_not_awaited" } });
    },
  );

  test("what a handler threw stays on the host, and is told to who watches", async () => {
    const errors: unknown[] = [];
    await using runtime = await createRuntime({
      sandbox,
      tools: [broken],
      onEvent: (event) => event.type === "call_ended" && errors.push(event.error),
    });
    const report = await runtime.execute("return tools.broken();");
    expect(report.outcome).toMatchObject({
      type: "failed",
      fault: { code: "handler_failed", tool: "broken", line: 1, column: 8 },
    });
    expect(JSON.stringify(report)).not.toMatch(/hunter2|shadow/);
    expect(errors).toEqual([expect.objectContaining({ message: "the password is hunter2, see /etc/shadow" })]);
  });

  test("a program that waits for what cannot happen fails at once", async () => {
    await using runtime = await start();
    const { outcome } = await runtime.execute("await tools.echo();\nawait new Promise(() => {});");
    expect(outcome).toMatchObject({ type: "failed", fault: { code: "never_settles" } });
  });

  test("an aborted signal cancels, and last words are kept", async () => {
    const called = signal();
    const hang = tool("hang", () => {
      called.happen();
      return new Promise(() => {});
    });
    await using runtime = await start(hang);
    const cancel = new AbortController();
    const running = runtime.execute("try {\n  await tools.hang();\n} finally {\n  console.log('goodbye');\n}", {
      signal: cancel.signal,
    });
    await called.happened;
    cancel.abort();
    const report = await running;
    expect(report.outcome).toEqual({ type: "cancelled" });
    expect(report.logs.text).toBe("goodbye\n");
    expect(report.output.isError).toBe(true);
  });

  test("a signal that is aborted before the start starts nothing", async () => {
    await using runtime = await start();
    const { outcome, usage } = await runtime.execute("return tools.echo();", { signal: AbortSignal.abort() });
    expect(outcome).toEqual({ type: "cancelled" });
    expect(usage.calls).toBe(0);
  });

  test("the calls limit refuses the next call, which the program may catch", async () => {
    await using runtime = await start();
    const program =
      "const seen = [];\ntry {\n  for (;;) seen.push((await tools.echo({ n: seen.length })).n);\n} catch (error) {\n  return [seen, error.code];\n}";
    const { outcome } = await runtime.execute(program, { limits: { calls: 3 } });
    expect(outcome).toEqual({ type: "completed", value: [[0, 1, 2], "budget_spent"] });
  });

  test("a program that does not catch it is stopped by that limit", async () => {
    await using runtime = await start();
    const { outcome } = await runtime.execute("for (;;) await tools.echo();", { limits: { calls: 3 } });
    expect(outcome).toEqual({ type: "stopped", limit: "calls", allowed: 3, seen: 4 });
  });

  test("inputs and results in all are bounded by totalBytes", async () => {
    const big = tool("big", () => "x".repeat(1000));
    await using runtime = await start(big);
    const { outcome } = await runtime.execute("for (;;) await tools.big();", { limits: { totalBytes: 5000 } });
    expect(outcome).toMatchObject({ type: "stopped", limit: "totalBytes", allowed: 5000 });
  });

  test("a program that waits too long is stopped by wallMs", async () => {
    const hang = tool("hang", () => new Promise(() => {}));
    await using runtime = await start(hang);
    const { outcome } = await runtime.execute("await tools.hang();", { limits: { wallMs: 50 } });
    expect(outcome).toMatchObject({ type: "stopped", limit: "wallMs", allowed: 50 });
  });

  test("printed text is bounded by its bytes of UTF-8, and a line that is too long is cut at a character", async () => {
    const limits = { logBytes: 1024 };
    await using runtime = await start();
    const lines = await runtime.execute(
      "for (let n = 0; n < 500; n += 1) console.log(`${n} 語語語語語語語語語語語 \\ud800`);",
      { limits },
    );
    expect(lines.outcome.type).toBe("completed");
    expect(lines.logs.text).toContain("0 語語語語語語語語語語語");
    expect(lines.logs.text).toContain("499 語語語語語語語語語語語");
    expect(lines.logs.bytes).toBeGreaterThan(1.8 * limits.logBytes);
    expect(lines.logs.bytes).toBeLessThanOrEqual(2 * limits.logBytes + 40);
    const line = await runtime.execute("console.log('x' + '😀'.repeat(5000));", { limits });
    expect(line.outcome.type).toBe("completed");
    expect(line.logs.text).toBe(`x${"😀".repeat(239)}… [${2 * (5000 - 239)} more characters of this line left out]\n`);
  });

  test("a value over outputBytes is a stub, in the outcome too", async () => {
    await using runtime = await start();
    const { outcome, output } = await runtime.execute("return Array.from({ length: 1000 }, (_, n) => ({ n }));", {
      limits: { outputBytes: 512 },
    });
    expect(outcome).toMatchObject({ type: "completed", value: { count: 1000, shape: "{ n: number }[]" } });
    expect(JSON.parse(output.text)).toEqual((outcome as { value: unknown }).value);
    expect(output.cut).toEqual({ valueBytes: 9891 });
  });

  test("a value far over it stops the program", async () => {
    await using runtime = await start();
    const { outcome } = await runtime.execute("return 'x'.repeat(100000);", {
      limits: { outputBytes: 512, frameBytes: 65536 },
    });
    expect(outcome).toMatchObject({ type: "stopped", limit: "outputBytes", allowed: 512 });
  });

  test("500 mixed calls replay from every prefix", { timeout: 120_000 }, async () => {
    await using runtime = await start();
    const { outcome, execution, usage } = await runtime.execute(MIXED_CALLS);
    expect(outcome).toMatchObject({ type: "completed", value: { calls: 500 } });
    expect(usage.calls).toBe(500);
    await expectReplay(runtime, execution);
  });

  /** The journal, cut after every turn, leads to the same commands, byte for byte. */
  async function expectReplay(runtime: Runtime, execution: string): Promise<void> {
    const records = await Array.fromAsync(runtime.journal.read(execution));
    const turns = records.filter((record): record is TurnRecord => record.type === "turn").length;
    for (let from = 0; from <= turns; from += 1) {
      expect(await replay(records, sandbox, AbortSignal.timeout(20_000), from)).toEqual({ type: "identical" });
    }
  }
}

/** All ways in which calls are usually combined; the clock and the dice go into inputs. */
const MIXED_CALLS = `
let calls = 0;
const call = (input) => { calls += 1; return tools.later({ ms: calls % 4, ...input }); };
const failing = () => { calls += 1; return tools.broken(); };
for (let round = 0; round < 10; round += 1) {
  await Promise.all(Array.from({ length: 10 }, (_, n) => call({ n, dice: Math.random() })));
  const timer = new Promise((resolve) => setTimeout(resolve, 2));
  await Promise.race([call({ a: 1 }), call({ b: 2 }), call({ c: 3 }), timer]);
  await Promise.allSettled([call({}), failing(), call({}), failing(), call({ at: Date.now() })]);
  for (let n = 0; n < 6; n += 1) await call({ id: crypto.randomUUID() });
}
async function* pages(count) { for (let page = 0; page < count; page += 1) yield call({ page }); }
for await (const page of pages(60)) console.log(page.page);
const queue = Array.from({ length: 200 }, (_, n) => n);
const worker = async () => { for (let n = queue.shift(); n !== undefined; n = queue.shift()) await call({ n }); };
await Promise.all([worker(), worker(), worker(), worker()]);
return { calls };
`;
