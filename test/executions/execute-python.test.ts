import { describe, expect, test } from "vitest";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { broken, echo } from "../support/tools.ts";
import { executeSuite } from "./execute.suite.ts";

describe.skipIf(PYTHON.missing)("Python in a process", () => {
  const sandbox = createForkedPythonSandbox();
  const start = () => createRuntime({ sandbox, tools: [echo, broken] });
  const python = { language: "python" } as const;

  const AWAIT_IT = {
    name: "TypeError",
    message: expect.stringMatching(/^tools\.echo\(\.\.\.\) is .*: await it first$/) as string,
  };
  const BROKEN = { name: "ToolError", code: "handler_failed", tool: "broken" };

  // Of two interpreters: their objects lie at other places.
  executeSuite("python", sandbox, createForkedPythonSandbox());

  test("a whole number that no double is is refused with its place, and all that Python's floats are arrives", async () => {
    await using runtime = await start();
    const kept = "[0.1, 1.10, 1e16, 1e-7, 5e-324, 1.7976931348623157e308, 2**53 - 1, 2.0**70, 1e25, -0.5, 3.0]";
    const program = `
try:
    await tools.echo(rows=[1, 2**53 + 1])
except ToolError as error:
    return [error.code, str(error), (await tools.echo(rows=${kept}))["rows"] == ${kept}]`;
    expect((await runtime.execute(program, python)).outcome).toMatchObject({
      value: ["input_invalid", expect.stringContaining('["rows"][1]'), true],
    });
  });

  test("json.loads gives a whole number that no double holds as results do: as its digits", async () => {
    await using runtime = await start();
    const digits =
      "9007199254740991 9007199254740993 -9007199254740994 1234567890123456800 -100000000000000000000".split(" ");
    const program = `import json\nreturn [repr(one) for one in json.loads("[${digits.join()}]")] + json.loads("[1e2]", parse_float=str)`;
    const [first = "", second, third = "", fourth, fifth = ""] = digits;
    expect((await runtime.execute(program, python)).outcome).toMatchObject({
      value: [first, `'${second}'`, third, `'${fourth}'`, fifth, "1e2"],
    });
  });

  test.each([
    ["a = 1\nreturn a +", { name: "SyntaxError", code: "syntax", line: 2, excerpt: "return a +" }],
    [
      "try:\n    int('x')\nexcept ValueError as e:\n    raise RuntimeError('no config') from e",
      { message: "no config (caused by ValueError: invalid literal for int() with base 10: 'x')" },
    ],
    ["e = ValueError('bad row')\ne.add_note('row 17')\nraise e", { message: "bad row row 17" }],
    [
      "class E(Exception):\n    def __str__(self):\n        raise RuntimeError('no')\nraise ValueError('a') from E()",
      { name: "ValueError", line: 4 },
    ],
    ["e = ValueError('a')\ne.__notes__ = 5\nraise e", { name: "ValueError", message: "a", line: 3 }],
    ["from tools import nope", { message: expect.stringContaining("`tools` is there already") as string }],
    [
      "import json\nreturn json.loads([])",
      { message: expect.stringContaining("Results of tools are values already") as string },
    ],
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
    ["return {1, print}", { name: "TypeError", code: "value_not_json" }],
    // Who takes a call for its result is told to await it.
    ["if tools.echo():\n    pass", AWAIT_IT],
    ["import json\njson.dumps(tools.echo())", AWAIT_IT],
    ["tools.echo() == {}", AWAIT_IT],
    [
      "Sure:\n```python\nrows = [1]\n  \nfor row in rows:\n    é = 'é'; await tools.broken()\n```",
      { ...BROKEN, line: 6, column: 20, excerpt: "é = 'é'; await tools.broken()" },
    ],
  ])("the fault of %j is told", async (program, fault) => {
    await using runtime = await start();
    const report = await runtime.execute(program, python);
    expect(report.outcome).toMatchObject({ type: "failed", fault });
    expect(JSON.stringify(report)).not.toMatch(/hunter2|shadow/);
  });

  test.each([
    "import tools\nreturn await tools.echo(a=1)",
    "import json, tools as t\nreturn await t.echo(a=1)",
    "def f():\n    from tools import echo\n    return echo\nreturn await f()(a=1)",
    "\ufeff```python\n#!/usr/bin/env python3\nfrom tools import echo as e\nreturn await e(a=1)\n```",
  ])("tools are there for a program that imports them: %j", async (program) => {
    await using runtime = await start();
    expect((await runtime.execute(program, python)).outcome).toMatchObject({ value: { a: 1 } });
  });

  test("the error of a misspelt tool names the nearest tool", async () => {
    await using runtime = await start();
    const { output } = await runtime.execute("rows = await tools.ecko(n=1)", python);
    expect(output.text).toBe(
      "AttributeError at line 1, column 14: tools has no tool 'ecko'\n  1 | rows = await tools.ecko(n=1)\nDid you mean tools.echo?",
    );
  });

  test.each([
    ["tools.broken()\nawait tools.echo()\nreturn 1", [expect.stringContaining("ToolError: broken failed")]],
    [
      "async def f(n):\n    raise ValueError(f'no {n}')\nfor n in range(3):\n    asyncio.create_task(f(n))\nawait tools.echo()\nreturn 1",
      ["A task or call failed, and the program did not await it: ValueError: no 0 (2 others failed too.)"],
    ],
    [
      "async def f():\n    raise ValueError('no')\nt = asyncio.create_task(f())\nawait tools.echo()\ntry:\n    await t\nexcept ValueError:\n    return 1",
      [],
    ],
    ["await asyncio.gather(tools.broken(), tools.echo(), return_exceptions=True)\nreturn 1", []],
  ])(
    "what fails and is never awaited leaves one remark, what is awaited later leaves none: %j",
    async (program, left) => {
      await using runtime = await start();
      const { outcome, remarks, execution } = await runtime.execute(program, python);
      expect(outcome).toEqual({ type: "completed", value: 1 });
      expect(remarks).toEqual(left);
      expect(await runtime.execution(execution).replay()).toEqual({ type: "identical" });
    },
  );

  test("a program that uses files is marked in its journal, and its replay is refused", async () => {
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
});
