import pino from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { createRuntime, PortcullisError } from "../../src/index.ts";
import type { FailureEntry } from "../../src/runtime/reports.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { agentOf, broken, echo, executed, runtimeWith, throws, tool } from "../support/index.ts";

const sandbox = createMemorySandbox();
const SECRET = "the password is hunter2, see /etc/shadow";
const CAUGHT = "await tools.broken().catch(() => {}); return 1;";

const printed = vi.spyOn(console, "error");
beforeEach(() => {
  printed.mockReset();
});
afterEach(() => {
  printed.mockReset();
});

/** A logger that keeps what it is told. */
function keepLog() {
  const entries: (FailureEntry & { readonly level: string; readonly message: string })[] = [];
  const keep = (level: string) => (entry: FailureEntry, message: string) =>
    void entries.push({ level, message, ...entry });
  return { entries, error: keep("error"), warn: keep("warn") };
}

const told = tool("told", throws(new PortcullisError("tool_failed", "There is no article 7.")));
const caused = tool("caused", () => {
  throw new PortcullisError("tool_failed", "There is no article 7.", { cause: new Error(SECRET) });
});
const late = tool("late", () => new Promise(() => {}), { timeoutMs: 1 });
const untrue = makeTool({
  name: "untrue",
  outputSchema: z.object({ items: z.array(z.object({ id: z.number() })) }),
  execute: () => ({ items: [{ id: 1 }, { id: "x" }] }) as never,
});

test("a handler that failed has one entry with its tool, execution, call and error, and the program has the sentence alone", async () => {
  const logger = keepLog();
  await using runtime = await runtimeWith([broken, echo], { logger });
  const { execution, output } = await runtime.execute("await tools.echo({}); return await tools.broken();");
  expect(logger.entries).toEqual([
    {
      level: "error",
      tool: "broken",
      execution,
      callId: "2",
      code: "handler_failed",
      err: expect.objectContaining({ message: SECRET, stack: expect.stringContaining("tools.ts") as string }) as Error,
      message: `broken failed in call 2, handler_failed: ${SECRET}`,
    },
  ]);
  expect(output.text).toMatch(/broken failed\. .*call 2\./);
  expect(output.text).not.toMatch(/hunter2|shadow|tools\.ts/);
  const records = JSON.stringify(await Array.fromAsync(runtime.journal.read(execution)));
  expect(records).not.toMatch(/hunter2|shadow|tools\.ts/);
  expect(printed).not.toHaveBeenCalled();
});

test("the operator is told which field of a result does not match, and the program is not", async () => {
  const logger = keepLog();
  const { output } = await executed([untrue], "return await tools.untrue({})", {}, { logger });
  expect(logger.entries).toMatchObject([
    {
      level: "error",
      code: "output_invalid",
      err: {
        message: expect.stringContaining("items[1].id: Invalid input") as string,
      },
    },
  ]);
  expect(output.text).not.toContain("items");
});

test("what the program was told is a warning, and an error where the logger has no warnings", async () => {
  const logger = keepLog();
  const program = `for (const name of ["told", "caused", "late"]) await tools[name]({}).catch(() => {});`;
  const tools = [told, caused, late];
  await executed(tools, program, {}, { logger });
  expect(logger.entries.map(({ level, tool: name, code }) => [level, name, code])).toEqual([
    ["warn", "told", "handler_failed"],
    ["error", "caused", "handler_failed"],
    ["warn", "late", "handler_timed_out"],
  ]);
  const { entries, error } = keepLog();
  await using other = await runtimeWith(tools, { logger: { error } });
  await other.execute(program);
  expect(entries.map(({ level }) => level)).toEqual(["error", "error", "error"]);
});

test("without a listener and a logger, failures whose cause was kept from the program go to console.error", async () => {
  printed.mockImplementation(() => {});
  const { execution } = await executed(
    [broken, told, late],
    "await tools.told().catch(() => {}); await tools.late().catch(() => {});" + CAUGHT,
  );
  const [[entry = ""] = [], ...others] = printed.mock.calls as string[][];
  expect(others).toEqual([]);
  const [first, second = ""] = entry.split("\n");
  expect(first).toBe(`portcullis: broken failed in call 3, handler_failed: ${SECRET} (execution ${execution})`);
  expect(second).toContain(`Error: ${SECRET}`);
  expect(entry).toContain("    at ");
});

test("an error as long as a response has an entry that is short", async () => {
  const { entries, error } = keepLog();
  const hard = tool("hard", () => {
    throw new Error("x".repeat(1_000_000));
  });
  await executed([hard], "return tools.hard();", {}, { logger: { error } });
  expect(entries.map(({ message }) => message.length < 5000)).toEqual([true]);
});

test.each<[string, (body: object) => unknown]>([
  ["on it", (body) => Object.assign(new Error("bad request"), { response: { data: body } })],
  ["on its cause", (body) => new Error("bad request", { cause: Object.assign(new Error("no"), body) })],
  ["on one of its errors", (body) => new AggregateError([body], "bad request")],
  ["in a map", (body) => Object.assign(new Error("bad request"), { all: new Map([["a", [body]]]) })],
  ["in itself", (body) => body],
])("of an error with a whole response %s, standard error has the stack, and not its fields", async (_, made) => {
  printed.mockImplementation(() => {});
  const fields = Array.from({ length: 50_000 }, (_field, index) => [`field${index}`, index]);
  const hard = tool("hard", () => {
    throw made(Object.fromEntries(fields) as object);
  });
  await executed([hard], "await tools.hard().catch(() => {}); return 1;");
  const text = String(printed.mock.calls[0]);
  expect(text).toContain("more than 5000 fields");
  expect(text).not.toContain("field4999");
});

test("a listener, of the runtime, of an execution or of a derived runtime, silences no failure; a logger does", async () => {
  printed.mockImplementation(() => {});
  const onEvent = () => {};
  await using heard = await runtimeWith([broken], { onEvent });
  await heard.execute(CAUGHT);
  expect(printed).toHaveBeenCalledTimes(1);
  await using runtime = await runtimeWith([broken]);
  await runtime.execute(CAUGHT, { onEvent });
  expect(printed).toHaveBeenCalledTimes(2);
  await using derived = runtime.derive({ onEvent });
  await derived.execute(CAUGHT);
  expect(printed).toHaveBeenCalledTimes(3);
  const logger = keepLog();
  await using silent = runtime.derive({ logger });
  await silent.execute(CAUGHT, { onEvent });
  expect(logger.entries).toHaveLength(1);
  expect(printed).toHaveBeenCalledTimes(3);
});

test("ids, names and messages of others control no terminal, with the console and with a logger", async () => {
  printed.mockImplementation(() => {});
  const foreign = "\u001b[2J\u009b1m\u202e%c%s\r\nportcullis: all is well\u2028portcullis: all is well";
  const failing = tool("failing", () => {
    throw new Error(foreign);
  });
  await using runtime = await runtimeWith([failing]);
  await runtime.execute("await tools.failing().catch(() => {});", { id: `id${foreign}` });
  const logger = keepLog();
  await using logged = runtime.derive({ logger });
  await logged.execute("await tools.failing().catch(() => {});");
  expect(printed.mock.calls).toEqual([[expect.stringContaining("%c%s")]]);
  const texts = [...(printed.mock.calls as string[][]).flat(), ...logger.entries.map(({ message }) => message)];
  expect(texts).toHaveLength(2);
  for (const text of texts) {
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
    expect(
      text
        .split("\n")
        .slice(1)
        .every((line) => line.startsWith("  ")),
    ).toBe(true);
  }
});

test("what one sentence says is printed once, without a stack that leads through this package", async () => {
  const tools = [
    makeTool({ name: "share", execute: () => ({ part: Number.NaN }) }),
    makeTool({ name: "pay", effect: "write", approval: "always" }),
  ];
  await using runtime = await runtimeWith(tools);
  printed.mockReset();
  await runtime.execute("await tools.share({}).catch(() => {}); await tools.pay({}).catch(() => {});");
  const lines = printed.mock.calls.map(([text]) => (text as string).replace(/ \(execution .*/, ""));
  expect(lines).toEqual([
    "portcullis: share failed in call 1, output_invalid: The result holds NaN at part.",
    expect.stringMatching(
      /^portcullis: pay was refused in call 2, approval_unavailable: pay needs approval .* asTool; [^\n]*$/,
    ),
  ]);
});

test("a program that makes calls fail by the thousand leaves 20 entries and the number of the others", async () => {
  const logger = keepLog();
  await using runtime = await runtimeWith([broken], { logger });
  const program = "await Promise.allSettled(Array.from({ length: 1000 }, () => tools.broken()));";
  const { execution } = await runtime.execute(program);
  expect(logger.entries).toHaveLength(21);
  expect(new Set(logger.entries.slice(0, 20).map(({ callId }) => callId)).size).toBe(20);
  expect(logger.entries.at(-1)).toMatchObject({
    level: "error",
    execution,
    message: "980 more calls failed and have no entry of their own; the last was of broken",
  });
  await runtime.execute(CAUGHT);
  expect(logger.entries).toHaveLength(22);
});

test("failures of agents, of their programs and of single calls are entries too, each once", async () => {
  const logger = keepLog();
  const failing = makeTool({
    name: "failing",
    allowedCallers: ["direct", "programmatic"],
    execute: broken.execute,
  });
  const model = scriptedModel([
    { calls: [{ tool: "failing" }], programs: ["await tools.failing({}).catch(() => {})"] },
    { text: "done" },
  ]);
  const clerk = agentOf("clerk", model, { tools: [failing], allowedCallers: ["programmatic"] });
  await using runtime = await runtimeWith([clerk, failing], { logger });
  await runtime.execute(`return await tools.clerk({ task: "Fail." })`);
  expect(logger.entries.map(({ tool: name }) => name)).toEqual(["failing", "failing"]);
  expect(new Set(logger.entries.map(({ execution }) => execution)).size).toBe(2);
  await runtime.call({ tool: "failing", input: {}, caller: "direct" });
  expect(logger.entries).toHaveLength(3);
});

test("pino writes the error with its stack", async () => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(line) });
  const { execution } = await executed([broken], CAUGHT, {}, { logger });
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    {
      level: 50,
      tool: "broken",
      execution,
      callId: "1",
      err: { type: "Error", message: SECRET, stack: expect.stringContaining("tools.ts") as string },
      msg: `broken failed in call 1, handler_failed: ${SECRET}`,
    },
  ]);
});

const fails = throws("a getter of the handler's");
const throwing = { get: fails };
const revoked = (value: object) => {
  const { proxy, revoke } = Proxy.revocable(value, {});
  revoke();
  return proxy;
};

test.each([
  ...(["cause", "message", "stack", "name", "code"] as const).map(
    (field) =>
      [`an error whose ${field} throws`, () => Object.defineProperty(new Error("a"), field, throwing)] as const,
  ),
  [
    "a cause whose cause throws",
    () => new Error("a", { cause: Object.defineProperty(new Error("b"), "cause", throwing) }),
  ],
  ["an error of a proxy that throws", () => new Proxy(new Error("a"), { ...throwing, getPrototypeOf: fails })],
  ["a value without JSON", () => ({ toJSON: fails, toString: fails })],
  ["nothing", (): unknown => undefined],
  ["a revoked proxy", () => revoked({})],
  ["a revoked proxy of an error", () => revoked(new Error("a"))],
] as const)(
  "a handler throws %s: the program goes on, and its listener is told of all, also where texts are redacted",
  async (_, thrown) => {
    const odd = tool("odd", () => {
      throw thrown();
    });
    const reached: unknown[] = [];
    const onRejection = (reason: unknown) => reached.push(reason);
    process.on("unhandledRejection", onRejection);
    try {
      for (const redact of [undefined, () => []]) {
        const types: string[] = [];
        const onEvent = ({ type }: { readonly type: string }) => void types.push(type);
        const options = { tools: [odd], sandbox, logger: keepLog(), onEvent };
        await using runtime = await createRuntime(redact ? { ...options, redact } : options);
        const { outcome } = await runtime.execute("await tools.odd().catch(() => {}); return 1;");
        expect(outcome).toEqual({ type: "completed", value: 1 });
        expect(types).toEqual(["execution_started", "call_started", "call_ended", "execution_ended"]);
      }
      // node tells of rejections after the microtasks of the event that they were made in.
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("unhandledRejection", onRejection);
    }
    expect(reached).toEqual([]);
  },
);

test("a `redact` that throws is told to the logger with its place, and none of its words are told", async () => {
  const logger = keepLog();
  const events: unknown[] = [];
  await using runtime = await runtimeWith([echo], {
    logger,
    onEvent: (event) => void events.push(event),
    redact: () => {
      throw new Error(SECRET);
    },
  });
  const report = await runtime.execute("return 'a text';");
  expect(logger.entries[0]).toEqual({
    level: "error",
    tool: "",
    execution: "",
    callId: "",
    code: "redact_failed",
    err: expect.objectContaining({
      message: expect.stringContaining("`redact`") as string,
      stack: expect.stringContaining("logger.test.ts") as string,
    }) as Error,
    message: expect.stringContaining("`redact`") as string,
  });
  const records = await Array.fromAsync(runtime.journal.read(report.execution));
  const logged = logger.entries.map(({ err, ...entry }) => [entry, (err as Error).stack]);
  expect(JSON.stringify([report, events, records, logged])).not.toMatch(/hunter2|shadow/);
});

test("what the machine lacks for a sandbox is one warning, and a logger that throws changes nothing", async () => {
  const remark = "A program that gets out is held by less here.";
  const weak = { ...sandbox, remark, [Symbol.asyncDispose]: async () => {} };
  const logger = keepLog();
  for (const sandboxed of [weak, sandbox]) {
    await using _ = await createRuntime({ tools: [], sandbox: sandboxed, logger });
  }
  expect(logger.entries).toMatchObject([{ level: "warn", code: "sandbox_weak", message: remark }]);
  await using runtime = await createRuntime({ tools: [broken], sandbox: weak, logger: { error: fails } });
  expect((await runtime.execute(CAUGHT)).outcome).toEqual({ type: "completed", value: 1 });
});
