import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { someOf, testOfAll } from "../support/all-tests.ts";
import { enginesOf } from "../support/engines.ts";
import { newFolder } from "../support/new-folder.ts";
import { fixtures, ownProcess, portcullis, root, SIGNALS, signalled } from "./command.ts";

const folder = newFolder();

/** A file with this text. */
function scratch(name: string, text: string | Buffer): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const TOOLS = ["--tools", `${fixtures}tools.ts`];

test("run prints the result on standard output and everything else on standard error", async () => {
  const { code, stdout, stderr } = await portcullis(["run", "-", ...TOOLS], "return (await tools.echo({ n: 1 })).n;");
  expect([code, stdout]).toEqual([0, "1\n"]);
  expect(stderr).toMatch(/^completed: 1 call, 7 B in, 1 B out, \d+\.\d s\n$/);
});

test("run --json prints the whole report as one document, and nothing else", async () => {
  const { code, stdout, stderr } = await portcullis(["run", "-", ...TOOLS, "--json"], "console.log('hi');\nreturn 1;");
  expect([code, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({
    outcome: { type: "completed", value: 1 },
    logs: { text: "hi\n" },
    usage: { calls: 0 },
  });
});

test("run prints the error of a handler that failed, with its stack, for the operator alone", async () => {
  const { code, stdout, stderr } = await portcullis(["run", "-", ...TOOLS], "await tools.broken()");
  expect(code).toBe(1);
  expect(stdout).not.toContain("hunter2");
  expect(stderr).toMatch(
    /^portcullis: broken failed in call 1, handler_failed: .*hunter2.*\n {2}Error: .*hunter2.*\n {6}at .*tools\.ts/,
  );
});

test("run --json has the error of a handler that failed under operator, and nothing of it elsewhere", async () => {
  const { stdout, stderr } = await portcullis(["run", "-", ...TOOLS, "--json"], "await tools.broken()");
  const { operator, ...report } = JSON.parse(stdout) as { readonly operator: unknown; readonly execution: string };
  expect(operator).toEqual([
    {
      tool: "broken",
      execution: report.execution,
      callId: "1",
      code: "handler_failed",
      message: expect.stringContaining("hunter2") as string,
      error: expect.stringMatching(/^Error: .*hunter2.*\n {4}at .*tools\.ts/) as string,
    },
  ]);
  expect(JSON.stringify(report)).not.toContain("hunter2");
  expect(stderr).toBe("");
});

test.each([
  [
    "a program that throws",
    "null.x",
    1,
    "TypeError at line 1, column 1: Cannot read properties of null (reading 'x')\n  1 | null.x",
  ],
  [
    "an empty program",
    "  \n",
    3,
    "ProgramError: The program is empty. Write the body of an async function that calls tools and returns a value.",
  ],
  [
    "a call that the gate refuses",
    "tools.strict({ n: 'one' })",
    3,
    "ToolError at line 1, column 1: The input of strict does not fit: n: Invalid input: expected number, received string. It takes { n: number }.\n  1 | tools.strict({ n: 'one' })",
  ],
  [
    "an error with the code of a refusal that never was",
    "throw Object.assign(new Error('x'), { code: 'input_invalid' });",
    1,
    "Error at line 1, column 21: x\n  1 | throw Object.assign(new Error('x'), { code: 'input_invalid' });",
  ],
  [
    "a failed call",
    "await tools.broken()",
    1,
    "ToolError at line 1, column 7: broken failed. The cause is in the operator's log, under call 1.\n  1 | await tools.broken()",
  ],
  [
    "a loop without end",
    "for (;;) {}",
    4,
    "The program was stopped: it ran longer than 200 ms (limit cpuMs). Look for a loop that does not end, or for work that grows with the square of the data.",
  ],
])("run answers %s with its exit code and a sentence", async (_what, program, code, sentence) => {
  const finished = await portcullis(["run", "-", ...TOOLS, "--limit", "cpuMs=200ms"], program);
  expect([finished.stdout, finished.code]).toEqual([`${sentence}\n`, code]);
});

test.each([
  ["line-2.mjs", "export default [\n  1 2\n];", "line-2.mjs:2\n    1 2\n      ^"],
  ["imports.mjs", "import './line-2.mjs';", "The syntax error is in a module that this one imports."],
])("a module %s with a syntax error is wrong usage, and the place is told", async (name, text, sentence) => {
  const finished = await portcullis(["run", "-", "--tools", scratch(name, text)], "return 1;");
  expect(finished).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(sentence) as string });
});

/** The other ways to break a process are tried by tools, below. */
const BREAKING = [
  ["hangs", "await new Promise(() => {});", "nothing is left to run, but a promise is still pending."],
  ["exits", "process.exit(0);", "process.exit was called."],
  ["strays", "Promise.reject(new Error('late')); export default [];", "Error: late"],
] as const;
test.each(someOf(BREAKING, 1))(
  "a module that breaks its process (%s) is told in a sentence, with exit code 2",
  async (name, text, reason) => {
    const tools = scratch(`${name}.mjs`, text);
    const { code, stdout, stderr } = await ownProcess(["run", "-", "--tools", tools], "return 1;");
    expect(stderr).toContain(`${name}.mjs cannot be loaded: ${reason}`);
    expect([code, stdout]).toEqual([2, ""]);
  },
);

test("a node that is too old is told in a sentence with a command that works, with exit code 5", async () => {
  const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })";
  const { code, stdout, stderr } = await ownProcess(["run", "a.js"], "", {
    node: ["--import", `data:text/javascript,${encodeURIComponent(old)}`],
  });
  expect(stderr).toMatch(/^portcullis: node 24 or 26 .*20\.20\.2\. .*npx -y --package node@24 .*\n$/);
  expect([code, stdout]).toEqual([5, ""]);
});

test("what tools print goes to standard error, so that --json prints one document", async () => {
  const module = `console.log("loading"); process.stdout.write("more\\n");
import { defineTool, jsonSchema } from ${JSON.stringify(`${root}src/index.ts`)};
export default [defineTool({ name: "talk", description: "Talks", inputSchema: jsonSchema({ type: "object" }),
  allowedCallers: ["programmatic"], effect: "read", execute: () => (console.log("called"), console.table([1]), 1) })];`;
  const options = ["--tools", scratch("talks.mjs", module), "--json"];
  const { code, stdout, stderr } = await ownProcess(["run", "-", ...options], "return tools.talk({});");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ outcome: { value: 1 } });
  expect(stderr).toMatch(/^loading\nmore\ncalled\n/);
});

test("tools lists whether a call may need approval, and what it changes", async () => {
  const { stdout } = await portcullis(["tools", "--tools", `${fixtures}approval-tools.ts`]);
  expect(stdout).toMatch(/^tool +callers +effect +approval /);
  expect(stdout).toMatch(/^pay +direct, programmatic +write +always /m);
  expect(stdout).toMatch(/^order +programmatic +by input +by input /m);
  const { stdout: other } = await portcullis(["tools", ...TOOLS, "--json"]);
  expect(JSON.parse(other)).toContainEqual(expect.objectContaining({ name: "echo", approval: "never" }));
});

test("control and invisible characters are escaped in JSON, with the same value", async () => {
  const said = "\u009b31m \u202e \u200b";
  const program = `console.log(${JSON.stringify(said)}); throw new Error(${JSON.stringify(said)});`;
  const { stdout } = await portcullis(["run", "-", ...TOOLS, "--json"], program);
  expect(stdout).not.toMatch(/[\u007f-\u009f\u202e\u200b]/);
  expect(JSON.parse(stdout)).toMatchObject({ outcome: { fault: { message: said } }, logs: { text: `${said}\n` } });
});

test.each(someOf(SIGNALS, 1))(
  "%s cancels the program, exits with %d, and leaves no engine",
  async (signal, exitCode) => {
    const { code, stdout, pid } = await signalled(["run", "-", ...TOOLS], "await tools.deaf();", signal);
    expect([stdout, code]).toEqual(["The execution was cancelled.\n", exitCode]);
    expect(enginesOf(pid)).toEqual([]);
  },
);

test("a file's extension gives its language, unless --language is given", async () => {
  const file = scratch("program.py", "return 1");
  const { code, stderr } = await portcullis(["run", file, ...TOOLS]);
  expect([stderr, code]).toEqual([expect.stringContaining("add --sandbox docker"), 2]);
  const named = await portcullis(["run", file, ...TOOLS, "--language", "javascript"]);
  expect(named.stdout).toBe("1\n");
});

testOfAll("the process ends with the program, whatever its tools keep open", async () => {
  const { code, stdout, pid } = await ownProcess(["run", "-", ...TOOLS], "tools.deaf(); await tools.echo(); return 1;");
  expect([stdout, code]).toEqual([expect.stringMatching(/^1\n/), 0]);
  expect(enginesOf(pid)).toEqual([]);
});

const BROKEN_BY_TOOLS = [
  ["await tools.strays();", /^Error: nobody waits for this\n {6}at \S.*tools\.ts:\d+:\d+\)?\n/],
  ["await tools.exits();", /^process\.exit was called\.\n$/],
] as const;
test.each(someOf(BROKEN_BY_TOOLS, 1))(
  "a tool that breaks the process in %j is reported with a sentence and its place, and leaves no engine",
  async (program, reason) => {
    const { code, stderr, pid } = await ownProcess(["run", "-", ...TOOLS, "--json"], program);
    const start = "portcullis: The tools, or Portcullis itself, failed: ";
    expect([stderr.slice(0, start.length), stderr.slice(start.length)]).toEqual([start, expect.stringMatching(reason)]);
    expect(code).toBe(5);
    await expect.poll(() => enginesOf(pid)).toEqual([]);
  },
);

testOfAll("a large result reaches a slow reader whole", async () => {
  const args = ["run", "-", ...TOOLS, "--json", "--limit", "outputBytes=4MiB"];
  const { stdout } = await ownProcess(args, "return 'x'.repeat(3_000_000);");
  expect(JSON.parse(stdout)).toMatchObject({ outcome: { value: "x".repeat(3_000_000) } });
});

const UNREAD = [
  ["throw new Error('x'.repeat(5000));", 1],
  ["return 'x'.repeat(500_000);", 0],
] as const;
test.each(someOf(UNREAD, 1))(
  "a reader that has gone changes nothing: %j still exits with %i, quietly",
  async (program, expected) => {
    const args = ["run", "-", ...TOOLS, "--json", "--limit", "outputBytes=1MiB"];
    const { code, stderr } = await ownProcess(args, program, { stdout: "gone" });
    expect([stderr, code]).toEqual(["", expected]);
  },
);

testOfAll("a result that cannot be written is reported with a sentence", async () => {
  const stdout = openSync("/dev/full", "w");
  const { code, stderr } = await ownProcess(["run", "-", ...TOOLS, "--json"], "return 1;", { stdout });
  closeSync(stdout);
  expect(stderr).toBe("portcullis: Standard output cannot be written: ENOSPC: no space left on device, write\n");
  expect(code).toBe(5);
});

test("tools --stubs prints what a model would read", async () => {
  const { stdout } = await portcullis(["tools", ...TOOLS, "--stubs"]);
  expect(stdout.split("\n")[0]).toBe("tools.echo(input: Record<string, unknown>): Promise<unknown> // echo, for tests");
});

test("tools --check says of each input what providers are not told as its schema says", async () => {
  const odd = ["--tools", `${fixtures}odd-inputs.ts`, "--check"];
  const { code, stdout } = await portcullis(["tools", ...odd]);
  expect(code).toBe(0);
  expect(stdout).toContain(
    "\n\nProviders are told of these inputs otherwise than their schemas say, by which calls are checked:\n\n",
  );
  expect(
    stdout
      .split("\n")
      .map((line) => line.trim().split(/ {2,}/))
      .slice(4)
      .filter(([first = ""]) => /^\w/.test(first)),
  ).toEqual([
    ["tool", "provider", "told"],
    ["either", "anthropic, openai, openai-chat", "as { input: … }"],
    ["either", "gemini", "without anyOf"],
    ["odd.names", "anthropic", "other names for $filter, ids[]"],
    ["odd.words", "openai, openai-chat", "without pattern"],
    ["odd.words", "gemini", "without not"],
  ]);
  const json = await portcullis(["tools", ...odd, "--json"]);
  expect((JSON.parse(json.stdout) as { readonly inputs: readonly unknown[] }).inputs).toContainEqual({
    tool: "odd.words",
    providers: ["gemini"],
    told: "without not",
  });
  expect((await portcullis(["tools", ...TOOLS, "--check"])).stdout).not.toContain("Providers");
});

test("doctor shows what this machine has", async () => {
  const environment = { DOCKER_HOST: "unix:///nowhere" };
  const { code, stdout } = await portcullis(["doctor", "--json"], "", { environment });
  const findings = JSON.parse(stdout) as { readonly what: string; readonly state: string }[];
  expect(findings.map(({ what }) => what).join(", ")).toBe(
    "host's memory, program check, node, isolated-vm, memory watch, end with host, engine wall, isolate run, docker",
  );
  expect(findings.filter(({ state }) => state === "missing")).toEqual([]);
  expect(code).toBe(0);
});

test("doctor says how programs are checked again where a variable ends it", async () => {
  const { stdout } = await portcullis(["doctor"], "", { environment: { PORTCULLIS_TSC: "" } });
  expect(stdout).toContain("not checked before they run: the variable PORTCULLIS_TSC is empty. Unset it\n");
});

test("tools prints the tools that a program would find by words, as text and as JSON", async () => {
  const text = await portcullis(["tools", "echo", "for", "tests", ...TOOLS]);
  expect(text).toMatchObject({ code: 0, stderr: "" });
  expect(text.stdout).toMatch(
    /^echo\n {2}tools\.echo\(input: Record<string, unknown>\): Promise<unknown>\n {2}echo, for tests\n/,
  );
  const json = await portcullis(["tools", "echo", "--json", ...TOOLS]);
  expect((JSON.parse(json.stdout) as readonly unknown[])[0]).toMatchObject({ name: "echo" });
  const none = await portcullis(["tools", "zeppelin", ...TOOLS]);
  expect(none).toMatchObject({ code: 0, stdout: expect.stringContaining("No tool") as string });
});
