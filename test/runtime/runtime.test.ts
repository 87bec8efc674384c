import { expect, test, vi } from "vitest";
import {
  createRuntime,
  type DeriveOptions,
  type ExecuteOptions,
  type ExecutionEvent,
  type RuntimeOptions,
} from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { DEFAULT_LIMITS } from "../../src/executions/limits.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { listed } from "../journal/journal-suite.ts";
import { broken, echo, runtimeWith, signal, tool } from "../support/index.ts";

const sandbox = createMemorySandbox();

const start = (options: RuntimeOptions) => createRuntime({ sandbox, ...options });

/** What a promise is rejected with. */
async function refusal(promise: Promise<unknown>): Promise<{ readonly code: string; readonly message: string }> {
  try {
    await promise;
  } catch (error) {
    const { code, message } = error as { readonly code: string; readonly message: string };
    return { code, message };
  }
  return { code: "none", message: "none" };
}

const OPTIONS =
  "The options are tools, sandbox, executions, limits, approve, policy, approvePrograms, checkPrograms, journal, fleet, redact, telemetry, tenant, heldBytes, leaseMs, onEvent, logger, stubTokens, search, observeResults.";

test.each<[unknown, string]>([
  [undefined, "createRuntime(options): expected an object, got undefined."],
  [
    {},
    "createRuntime({ tools }): expected an array of tools made by defineTool, or a function that returns one, got undefined.",
  ],
  [{ tools: [{ name: "t" }] }, 'createRuntime({ tools }): expected tools made by defineTool, got {"name":"t"}.'],
  [{ tools: [], sanbox: sandbox }, `createRuntime: there is no option "sanbox", did you mean sandbox? ${OPTIONS}`],
  [
    { tools: [], sandbox: "chroot" },
    'createRuntime({ sandbox }): expected "isolate", "docker" or a sandbox, got "chroot".',
  ],
  [
    { tools: [], limits: { calls: -1 } },
    "createRuntime({ limits: { calls } }): expected a whole number from 0 to 1000000, got -1.",
  ],
  [{ tools: [], approve: true }, "createRuntime({ approve }): expected a function, got true."],
  [
    { tools: [], logger: { warn: () => {} } },
    "createRuntime({ logger }): expected a logger with a method error, like pino or console, got {}.",
  ],
  [
    { tools: [], journal: {} },
    "createRuntime({ journal }): expected a journal: create, append, read, find, list and renew, got {}.",
  ],
  [
    { tools: [], heldBytes: 100 },
    "createRuntime({ heldBytes }): expected a whole number of at least 1048576, got 100.",
  ],
  [
    { tools: [], tenant: "" },
    'createRuntime({ tenant }): expected a name of 1 to 256 characters of well-formed Unicode, without U+0000, got "".',
  ],
])("a runtime with wrong options is refused in a sentence (case %#: %j)", async (options, message) => {
  expect(await refusal(createRuntime(options as RuntimeOptions))).toEqual({ code: "option_invalid", message });
});

test("a runtime with a wrong option starts no guest", async () => {
  const warm = vi.fn<() => Promise<void>>(async () => {});
  const warmed = { ...sandbox, warm };
  for (const wrong of [
    { tools: [echo, echo] },
    { stubTokens: -1 },
    { search: { first: -1 } },
    { limits: { calls: -1 } },
    { executions: { concurrency: 0 } },
    { telemetry: { capture: "all-of" as never } },
  ])
    expect(await refusal(createRuntime({ tools: [], sandbox: warmed, ...wrong }))).toBeDefined();
  expect(warm).not.toHaveBeenCalled();
});

const EXECUTE_OPTIONS =
  "The options are id, corrects, maxAgeMs, language, result, limits, tools, tenant, context, approve, policy, approvePrograms, checkPrograms, onEvent, signal.";

test.each<[unknown, unknown, string]>([
  [5, {}, "execute(program): expected source text, got 5."],
  ["return 1", null, "execute(options): expected an object, got null."],
  ["return 1", { limit: {} }, `execute: there is no option "limit", did you mean limits? ${EXECUTE_OPTIONS}`],
  [
    "return 1",
    { language: "python" },
    'execute({ language }): expected one that the memory sandbox runs (javascript), or sandbox: "docker" for the runtime, got "python".',
  ],
  [
    "return 1",
    { tenant: "x".repeat(257) },
    "execute({ tenant }): expected a name of 1 to 256 characters of well-formed Unicode, without U+0000, got a string of 257 characters.",
  ],
])("an execution with wrong options is refused and not journalled (case %#)", async (program, options, message) => {
  await using runtime = await runtimeWith([]);
  expect(await refusal(runtime.execute(program as string, options as ExecuteOptions))).toEqual({
    code: "option_invalid",
    message,
  });
  expect(await listed(runtime.journal)).toEqual([]);
});

test("an execution has the runtime's limits and tenant where it does not say others", async () => {
  await using runtime = await runtimeWith([], { tenant: "a", limits: { calls: 5, wallMs: 5000 } });
  const runs = [
    await runtime.execute("return 1"),
    await runtime.execute("return 1", { tenant: "b", limits: { calls: 6 } }),
  ];
  const [first, second] = await Promise.all(
    runs.map(async ({ execution }) => (await Array.fromAsync(runtime.journal.read(execution)))[0]),
  );
  expect(runtime.limits).toEqual({ ...DEFAULT_LIMITS, calls: 5, wallMs: 5000 });
  expect(first).toMatchObject({ tenant: "a", limits: { ...DEFAULT_LIMITS, calls: 5, wallMs: 5000 } });
  expect(second).toMatchObject({ tenant: "b", limits: { ...DEFAULT_LIMITS, calls: 6, wallMs: 5000 } });
});

test("a program that cannot run is reported like any other, and nothing is started or journalled", async () => {
  const events: ExecutionEvent[] = [];
  await using runtime = await runtimeWith([], { onEvent: (event) => events.push(event) });
  const { outcome, output, usage } = await runtime.execute("return {");
  expect(outcome).toMatchObject({ type: "failed", fault: { code: "syntax", line: 1, column: 9 } });
  expect(output).toEqual({
    text: "SyntaxError at line 1, column 9: Unexpected token.\n  1 | return {",
    isError: true,
  });
  expect(usage).toMatchObject({ calls: 0, turns: 0 });
  expect(await listed(runtime.journal)).toEqual([]);
  expect(events).toEqual([]);
});

test("a runtime rejects with the cause where its sandbox cannot be warmed", async () => {
  const cold = new Error("it does not start");
  const options = { tools: [], sandbox: { ...createMemorySandbox(), warm: () => Promise.reject(cold) } };
  await expect(createRuntime(options)).rejects.toBe(cold);
});

test("who watches is told each step as it happens, calls with what only the operator should see", async () => {
  const events: ExecutionEvent[] = [];
  await using runtime = await start({ tools: [echo, broken], onEvent: (event) => events.push(event) });
  const { execution, outcome } = await runtime.execute(
    "console.log('hello');\nawait tools.echo();\nawait tools.broken().catch(() => {});\nreturn 1;",
  );
  expect(outcome).toEqual({ type: "completed", value: 1 });
  expect(events).toMatchObject([
    { type: "execution_started", execution },
    { type: "output", execution, text: "hello\n" },
    { type: "call_started", execution, callId: "1", tool: "echo", caller: "programmatic" },
    { type: "call_ended", execution, callId: "1", tool: "echo", outcome: { type: "value", shape: "object" } },
    { type: "call_started", execution, callId: "2", tool: "broken" },
    {
      type: "call_ended",
      execution,
      outcome: { type: "failed", code: "handler_failed" },
      error: expect.any(Error) as Error,
    },
    { type: "execution_ended", execution, outcome: { type: "completed", value: 1 } },
  ]);
});

test("the declarations are of the tools that programs may call, and of no other", async () => {
  const hidden = makeTool({ name: "crm.remove", allowedCallers: ["direct"] });
  const both = makeTool({ name: "crm.find", allowedCallers: ["direct", "programmatic"] });
  await using runtime = await runtimeWith([hidden, both]);
  expect(runtime.declarations()).toContain("find");
  expect(runtime.declarations()).not.toContain("remove");
  expect(runtime.tools.all).toEqual([hidden, both]);
});

test("closing cancels what runs, also in runtimes derived from it, waits for it, and takes nothing more", async () => {
  const started = [signal(), signal()];
  let calls = 0;
  const hang = tool("hang", () => {
    started[calls]?.happen();
    calls += 1;
    return new Promise(() => {});
  });
  const ended: string[] = [];
  const runtime = await runtimeWith([hang], {
    onEvent: (event) => event.type === "execution_ended" && ended.push(event.outcome.type),
  });
  const done = await runtime.execute("return 1");
  const derived = runtime.derive({ tools: [] }).derive({ tools: [hang] });
  const running = [runtime, derived].map((one) => one.execute("return await tools.hang()"));
  for (const { happened } of started) await happened;
  await runtime[Symbol.asyncDispose]();
  expect(ended).toEqual(["completed", "cancelled", "cancelled"]);
  for (const { outcome } of await Promise.all(running)) expect(outcome).toEqual({ type: "cancelled" });
  for (const one of [runtime, derived])
    expect(await refusal(one.execute("return 1"))).toMatchObject({ code: "runtime_closed" });
  expect(await refusal(runtime.execution(done.execution).replay())).toMatchObject({ code: "runtime_closed" });
  expect(derived.closing.reason).toMatchObject({ code: "runtime_closed" });
  await runtime[Symbol.asyncDispose]();
});

test("a derived runtime has its own tools, journal and listener, and the limits and tenant it is derived from", async () => {
  const told: string[] = [];
  const listen = (name: string) => (event: ExecutionEvent) => void told.push(`${name} ${event.type}`);
  await using runtime = await start({ tools: [broken], limits: { calls: 3 }, tenant: "a", onEvent: listen("first") });
  const journal = createMemoryJournal();
  await using derived = runtime.derive({ tools: [echo], journal, onEvent: listen("derived") });
  const { outcome, execution } = await derived.execute("return await tools.echo({ a: 1 })");
  expect(outcome).toEqual({ type: "completed", value: { a: 1 } });
  const [header] = await Array.fromAsync(journal.read(execution));
  expect(header).toMatchObject({ tenant: "a", tools: [{ name: "echo" }], limits: { calls: 3 } });
  expect(await refusal(Array.fromAsync(runtime.journal.read(execution)))).toMatchObject({ code: "execution_unknown" });
  expect(new Set(told.map((line) => line.split(" ")[0]))).toEqual(new Set(["derived"]));

  await using second = runtime.derive({ tools: [echo] });
  await second.execute("return 1");
  expect(told.at(-1)).toBe("first execution_ended");
  expect(await listed(runtime.journal)).toHaveLength(1);
});

test("closing a derived runtime leaves the one that it is derived from open, with its sandbox", async () => {
  await using runtime = await createRuntime({ tools: [] });
  const derived = runtime.derive({ tools: [] });
  await derived.execute("return 1");
  await derived[Symbol.asyncDispose]();
  expect(await refusal(derived.execute("return 1"))).toMatchObject({ code: "runtime_closed" });
  expect((await runtime.execute("return 1")).outcome).toEqual({ type: "completed", value: 1 });
});

test.each<[unknown, string]>([
  [undefined, "derive(options): expected an object, got undefined."],
  [{ tools: [], limit: {} }, 'derive: there is no option "limit", did you mean limits?'],
  [{ tools: [], onEvent: 1 }, "derive({ onEvent }): expected a function, got 1."],
])("a runtime is not derived with %j", async (options, message) => {
  await using runtime = await runtimeWith([]);
  const derive = () => runtime.derive(options as DeriveOptions);
  expect(derive).toThrow(message);
});

test("an execution rejects with the cause where the journal cannot be written", async () => {
  const gone = new Error("the store is gone");
  const journal = { ...createMemoryJournal(), append: () => Promise.reject(gone) };
  await using runtime = await runtimeWith([], { journal });
  await expect(runtime.execute("return 1")).rejects.toBe(gone);
});
