import { afterAll, describe, expect, test } from "vitest";
import type { TurnRecord } from "../../src/journal/record.ts";
import { replay } from "../../src/programs/replay.ts";
import { createRuntime, type Runtime } from "../../src/runtime.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { broken, echo, later, signal, tool } from "../support/tools.ts";
import { ORDINARY_PYTHON_PROGRAMS } from "./ordinary-python-programs.ts";

/** What executing Python programs promises, on any sandbox that runs them. */
export function executePythonSuite(sandbox: Sandbox): void {
  afterAll(() => sandbox[Symbol.asyncDispose]());
  const start = (...tools: Parameters<typeof createRuntime>[0]["tools"]) =>
    createRuntime({ sandbox, tools: [echo, later, broken, ...tools] });
  const python = { language: "python" } as const;

  describe("ordinary programs complete, and replay from every prefix", () => {
    test.each(ORDINARY_PYTHON_PROGRAMS)("one that $does", async ({ program, returns }) => {
      await using runtime = await start();
      const { outcome, execution } = await runtime.execute(program, python);
      expect(outcome).toEqual({ type: "completed", value: returns });
      await expectReplay(runtime, execution);
    });
  });

  test("printed text is bounded by its bytes of UTF-8, and a line that is too long is cut at a character", async () => {
    const options = { ...python, limits: { logBytes: 1024 } };
    await using runtime = await start();
    const lines = await runtime.execute(
      "for n in range(500):\n    print(n, '語語語語語語語語語語語', '\\ud800')",
      options,
    );
    expect(lines.outcome.type).toBe("completed");
    expect(lines.logs.text).toContain("0 語語語語語語語語語語語");
    expect(lines.logs.text).toContain("499 語語語語語語語語語語語");
    expect(lines.logs.bytes).toBeGreaterThan(1.8 * 1024);
    expect(lines.logs.bytes).toBeLessThanOrEqual(2 * 1024 + 40);
    const line = await runtime.execute("print('x' + '😀' * 5000)", options);
    expect(line.outcome.type).toBe("completed");
    expect(line.logs.text).toBe(`x${"😀".repeat(239)}… [${2 * (5000 - 239)} more characters of this line left out]\n`);
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
    const { outcome } = await runtime.execute("len(await asyncio.gather(*(tools.meet() for _ in range(50))))", python);
    expect(outcome).toEqual({ type: "completed", value: 50 });
  });

  test("a read that nobody awaits is noted, a write fails the program", async () => {
    const hang = () => new Promise(() => {});
    await using runtime = await start(tool("slow", hang), tool("pay", hang, { effect: "write" }));
    const report = await runtime.execute("tools.slow()\nawait tools.echo()\nreturn 'done'", python);
    expect(report.outcome).toEqual({ type: "completed", value: "done" });
    expect(report.notes).toEqual(["1 call of slow was not awaited and ended with the program."]);
    const { outcome } = await runtime.execute("tools.pay()\nawait tools.echo()\nreturn 'done'", python);
    expect(outcome).toMatchObject({ type: "failed", fault: { code: "calls_not_awaited" } });
  });

  test("a failed call that is not caught has its place and its line", async () => {
    await using runtime = await start();
    const program = "Sure:\n```python\nrows = [1]\n  \nfor row in rows:\n    é = 'é'; await tools.broken()\n```";
    const report = await runtime.execute(program, python);
    const fault = { name: "ToolError", code: "handler_failed", tool: "broken", line: 6, column: 14 };
    expect(report.outcome).toMatchObject({
      type: "failed",
      fault: { ...fault, excerpt: "é = 'é'; await tools.broken()" },
    });
    expect(JSON.stringify(report)).not.toMatch(/hunter2|shadow/);
  });

  test.each([
    ["a = 1\nreturn a +", { name: "SyntaxError", code: "syntax", line: 2, excerpt: "return a +" }],
    ["if True:\nreturn 1", { name: "IndentationError", code: "syntax", line: 2, column: 1, excerpt: "return 1" }],
    ["rows = {}\nreturn rows['x']", { name: "KeyError", message: "'x'", line: 2, column: 8 }],
    ["def f(row):\n    return row.id\nf(3)", { name: "AttributeError", line: 2, column: 12, excerpt: "return row.id" }],
    [
      "rows = [1]\nx = next(r for r in rows if r > 5)",
      {
        name: "StopIteration",
        message: "next() found nothing: give it a default, next(..., None)",
        line: 2,
        column: 5,
        excerpt: "x = next(r for r in rows if r > 5)",
      },
    ],
    [
      "async def main():\n    return next(iter([]))\n\nasyncio.run(main())",
      { name: "StopIteration", line: 2, column: 12, excerpt: "return next(iter([]))" },
    ],
    ["return tools.broken()", { name: "ToolError", code: "handler_failed", line: 1, column: 8 }],
    ["return {1, print}", { name: "TypeError", code: "value_not_json" }],
  ])("the fault of %j is told", async (program, fault) => {
    await using runtime = await start();
    expect((await runtime.execute(program, python)).outcome).toMatchObject({ type: "failed", fault });
  });

  test("a misspelt tool is told, and the nearest one with it", async () => {
    await using runtime = await start();
    const { output } = await runtime.execute("rows = await tools.ecko(n=1)", python);
    expect(output.text).toBe(
      "AttributeError at line 1, column 14: tools has no tool 'ecko'\n  1 | rows = await tools.ecko(n=1)\nDid you mean tools.echo?",
    );
  });

  test.each(["if tools.echo():\n    pass", "import json\njson.dumps(tools.echo())", "tools.echo() == {}"])(
    "who takes a call for its result is told to await it: %j",
    async (program) => {
      await using runtime = await start();
      const { outcome } = await runtime.execute(program, python);
      expect(outcome).toMatchObject({
        type: "failed",
        fault: { name: "TypeError", message: expect.stringMatching(/^tools\.echo\(\.\.\.\) is .*: await it first$/) },
      });
    },
  );

  test("a program that waits for what cannot happen fails at once", async () => {
    await using runtime = await start();
    const { outcome } = await runtime.execute("await tools.echo()\nawait asyncio.Event().wait()", python);
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
    const program = "try:\n    await tools.hang()\nfinally:\n    print('goodbye', end='')";
    const running = runtime.execute(program, { ...python, signal: cancel.signal });
    await called.happened;
    cancel.abort();
    const report = await running;
    expect(report.outcome).toEqual({ type: "cancelled" });
    expect(report.logs.text).toBe("goodbye\n");
  });

  test("the calls limit refuses the next call, which the program may catch", async () => {
    await using runtime = await start();
    const program =
      "seen = []\ntry:\n    while True:\n        seen.append((await tools.echo(n=len(seen)))['n'])\nexcept ToolError as error:\n    return [seen, error.code]";
    const options = { ...python, limits: { calls: 3 } };
    expect((await runtime.execute(program, options)).outcome).toEqual({
      type: "completed",
      value: [[0, 1, 2], "budget_spent"],
    });
    const { outcome } = await runtime.execute("while True:\n    await tools.echo()", options);
    expect(outcome).toEqual({ type: "stopped", limit: "calls", allowed: 3, seen: 4 });
  });

  test.each([
    ["async with asyncio.TaskGroup() as g:\n    for n in range(9):\n        g.create_task(tools.echo(n=n))", "calls"],
    ["return 'x' * 200_000", "outputBytes"],
    ["await asyncio.sleep(60)", "wallMs"],
    ["return [0] * 10**15", "memoryBytes"],
  ])("%j is stopped by its limit", async (program, limit) => {
    await using runtime = await start();
    const limits = { calls: 3, frameBytes: 65_536, outputBytes: 512, wallMs: limit === "wallMs" ? 300 : 20_000 };
    expect((await runtime.execute(program, { ...python, limits })).outcome).toMatchObject({ type: "stopped", limit });
  });

  test("140 mixed calls replay from every prefix", { timeout: 240_000 }, async () => {
    await using runtime = await start();
    const { outcome, execution, usage } = await runtime.execute(MIXED_CALLS, python);
    expect(outcome).toMatchObject({ type: "completed", value: { calls: 140 } });
    expect(usage.calls).toBe(140);
    await expectReplay(runtime, execution);
  });

  test("a program that uses files is marked in its journal, and its replay refused", async () => {
    await using runtime = await start();
    const program =
      "import tempfile\nwith tempfile.TemporaryFile('w+') as file:\n    file.write('kept for a moment')\n    file.seek(0)\n    return await tools.echo(text=file.read())";
    const { outcome, execution } = await runtime.execute(program, python);
    expect(outcome).toEqual({ type: "completed", value: { text: "kept for a moment" } });
    expect(await runtime.execution(execution).replay()).toEqual({ type: "unreplayable", cause: "files" });
    const records = await Array.fromAsync(runtime.journal.read(execution));
    expect(records.find((record) => record.type === "turn")?.commands).toContain(
      '{"kind":"unreplayable","cause":"files"}',
    );
  });

  /** The journal, cut after every turn, leads to the same commands, byte for byte, in new guests. */
  async function expectReplay(runtime: Runtime, execution: string): Promise<void> {
    const records = await Array.fromAsync(runtime.journal.read(execution));
    const turns = records.filter((record): record is TurnRecord => record.type === "turn").length;
    for (let from = 0; from <= turns; from += 1)
      expect(await replay(records, sandbox, AbortSignal.timeout(20_000), from)).toEqual({ type: "identical" });
  }
}

/** All ways in which calls are usually combined; the clock, the dice and the order of sets go into inputs. */
const MIXED_CALLS = `
import random, time, uuid
from datetime import datetime

calls = 0

def call(**fields):
    global calls
    calls += 1
    return tools.later(ms=calls % 4, **fields)

def failing():
    global calls
    calls += 1
    return tools.broken()

async def loose(n):
    return (await call(n=n, at=time.time()))["n"]

for round in range(4):
    await asyncio.gather(*(call(n=n, dice=random.random()) for n in range(6)))
    done, pending = await asyncio.wait(
        [asyncio.ensure_future(one) for one in (call(a=1), call(b=2), asyncio.sleep(0.002))],
        return_when=asyncio.FIRST_COMPLETED,
    )
    print("done", [sorted(one.result() or {}) for one in done], len(pending))
    await asyncio.wait(pending)
    settled = await asyncio.gather(call(), failing(), call(now=datetime.now()), return_exceptions=True)
    print([type(one).__name__ for one in settled])
    async with asyncio.TaskGroup() as group:
        tasks = {group.create_task(loose(n)) for n in range(5)}
    print([one.result() for one in tasks])
    try:
        async with asyncio.timeout(0.001):
            await call(slow=True)
            await asyncio.sleep(5)
    except TimeoutError:
        print("timeout", time.monotonic())
    for one in asyncio.as_completed([loose(n) for n in range(3)]):
        print(await one)
    await call(id=uuid.uuid4(), other=uuid.uuid1(), tags=list({"a", "b", "c", str(random.random())}))

queue = asyncio.Queue()
for n in range(140 - calls):
    queue.put_nowait(n)

async def worker(name):
    while not queue.empty():
        n = queue.get_nowait()
        await call(n=n, worker=name)
        await asyncio.sleep(random.random() / 1000)

await asyncio.gather(*(worker(name) for name in "abcd"))
return {"calls": calls}
`;
