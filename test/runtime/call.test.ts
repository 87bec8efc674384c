import { expect, test } from "vitest";
import { z } from "zod";
import { type CallOptions, type ExecutionEvent } from "../../src/index.ts";
import { parseRecords } from "../../src/journal/reading/parse-records.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { listed } from "../journal/journal-suite.ts";
import { agentOf, broken, endless, failing, runtimeWith, signal } from "../support/index.ts";

const logger = { error: () => {} };
const direct = { caller: "direct", input: {} } as const;

const double = makeTool({
  name: "math.double",
  inputSchema: z.object({ value: z.number() }),
  outputSchema: z.object({ value: z.number() }),
  allowedCallers: ["direct"],
  execute: ({ value }) => ({ value: value * 2 }),
});

test("a call comes back with its value, and is an execution of its own in the journal", async () => {
  const events: ExecutionEvent[] = [];
  await using runtime = await runtimeWith([double], {
    tenant: "acme",
    onEvent: (event) => events.push(event),
  });
  const called = await runtime.call({ tool: "math.double", input: { value: 21 }, caller: "direct" });
  expect(called).toEqual({ ok: true, value: { value: 42 } });
  const [summary, ...others] = await listed(runtime.journal);
  expect([summary, others]).toMatchObject([{ tenant: "acme", ended: true }, []]);
  const execution = summary?.execution ?? "";
  const records = await Array.fromAsync(runtime.journal.read(execution));
  expect(records).toMatchObject([
    { type: "header", kind: "call", tool: "math.double", caller: "direct", input: '{"value":21}', tenant: "acme" },
    { type: "call", decision: "allowed", tool: "math.double" },
    { type: "answered", ok: true },
    { type: "outcome", outcome: '{"type":"completed","value":{"value":42}}' },
  ]);
  expect(parseRecords(records)).toEqual(records);
  expect(events).toMatchObject([
    { type: "call_started", execution, tool: "math.double", caller: "direct" },
    { type: "call_ended", execution, outcome: { type: "value" } },
  ]);
  await expect(runtime.execution(execution).replay()).rejects.toThrow("this is a single call, not a program");
});

test.each<[string, Partial<CallOptions>, string, string]>([
  ["an unknown tool", { tool: "math.doubel" }, "tool_unknown", "Did you mean math.double?"],
  [
    "a tool for programs",
    { tool: "hidden" },
    "caller_not_allowed",
    "hidden can only be called from a program: write a program that calls it.",
  ],
  [
    "a tool for direct calls",
    { caller: "programmatic" },
    "caller_not_allowed",
    "math.double can only be called directly: call it outside of a program.",
  ],
  ["a wrong input", { input: { value: "x" } }, "input_invalid", "The input of math.double does not fit"],
  ["an input that is too large", { input: { value: "x".repeat(1_100_000) } }, "budget_spent", "limit inputBytes"],
  ["a handler that fails", { tool: "failing" }, "handler_failed", "failing failed."],
  ["a call that needs approval", { tool: "paid" }, "approval_unavailable", "approval is not available here"],
  ["a call that is denied", { tool: "paid", approve: () => false }, "approval_denied", "approval was denied"],
])("%s is a value with a code and a sentence, and nothing of the host", async (_, changes, code, message) => {
  const tools = [
    double,
    makeTool({ name: "hidden" }),
    makeTool({ name: "paid", allowedCallers: ["direct"], approval: "always" }),
    makeTool({ name: "failing", allowedCallers: ["direct"], execute: broken.execute }),
  ];
  await using runtime = await runtimeWith(tools, { logger });
  const called = await runtime.call({ tool: "math.double", ...direct, ...changes });
  expect(called).toEqual({ ok: false, code, message: expect.stringContaining(message) as string });
  expect(JSON.stringify(called)).not.toContain("hunter2");
  const [summary] = await listed(runtime.journal);
  const records = await Array.fromAsync(runtime.journal.read(summary?.execution ?? ""));
  expect(JSON.stringify(records).length).toBeLessThan(2000);
  expect(JSON.parse((records.at(-1) as { readonly outcome: string }).outcome)).toMatchObject({ type: "failed", code });
});

test("a call is cancelled by its signal, before its handler starts and while it works", async () => {
  const started = signal();
  const told = signal();
  const hang = makeTool({
    allowedCallers: ["direct"],
    execute: (_, { signal: end }) => {
      end.addEventListener("abort", told.happen);
      started.happen();
      return new Promise(() => {});
    },
  });
  await using runtime = await runtimeWith([hang]);
  const controller = new AbortController();
  const calling = runtime.call({ tool: "t", ...direct, signal: controller.signal });
  await started.happened;
  controller.abort();
  await told.happened;
  const cancelled = { ok: false, code: "cancelled", message: "The call was cancelled before it had an answer." };
  expect(await calling).toEqual(cancelled);
  expect(await runtime.call({ tool: "t", ...direct, signal: controller.signal })).toEqual(cancelled);
  for (const { execution } of await listed(runtime.journal))
    expect((await Array.fromAsync(runtime.journal.read(execution))).at(-1)).toMatchObject({
      outcome: '{"type":"cancelled"}',
    });
});

test("closing the runtime cancels a call that is under way, and takes no further one", async () => {
  const started = endless();
  const hang = makeTool({
    allowedCallers: ["direct"],
    execute: started.run,
  });
  const runtime = await runtimeWith([hang]);
  const calling = runtime.call({ tool: "t", ...direct });
  await started.begun;
  await runtime[Symbol.asyncDispose]();
  expect(await calling).toMatchObject({ ok: false, code: "cancelled" });
  await expect(runtime.call({ tool: "t", ...direct })).rejects.toMatchObject({ code: "runtime_closed" });
});

test("a tool's concurrency holds over calls and programs of a runtime, and an agent can be called", async () => {
  let atOnce = 0;
  let most = 0;
  const narrow = makeTool({
    name: "narrow",
    allowedCallers: ["direct", "programmatic"],
    concurrency: 1,
    execute: async () => {
      most = Math.max(most, (atOnce += 1));
      await new Promise(setImmediate);
      atOnce -= 1;
    },
  });
  const model = scriptedModel([{ calls: [{ tool: "narrow" }] }, { text: "It is done." }]);
  const clerk = agentOf("clerk", model, { tools: [narrow], allowedCallers: ["direct"] });
  await using runtime = await runtimeWith([narrow, clerk]);
  const [asked] = await Promise.all([
    runtime.call({ tool: "clerk", input: { task: "Work." }, caller: "direct" }),
    runtime.execute("await Promise.all([tools.narrow({}), tools.narrow({})])"),
    ...Array.from({ length: 5 }, () => runtime.call({ tool: "narrow", ...direct })),
  ]);
  expect(asked).toEqual({ ok: true, value: "It is done." });
  expect(most).toBe(1);
});

const circular: unknown[] = [];
circular.push(circular);

test.each<[unknown, string]>([
  [undefined, "call(options): expected an object, got undefined."],
  [{ tool: "t", input: {} }, 'call({ caller }): expected "direct" or "programmatic", got undefined.'],
  [{ tool: "t", input: {}, caller: "admin" }, 'call({ caller }): expected "direct" or "programmatic", got "admin".'],
  [{ tool: "t", caller: "direct" }, "call({ input }): expected a value that is JSON, got undefined."],
  [{ tool: "t", input: circular, caller: "direct" }, "call({ input }): expected a value that is JSON"],
  [{ tool: "t", input: { n: 1n }, caller: "direct" }, "call({ input }): expected a value that is JSON"],
  [{ tool: "t", inputs: {}, caller: "direct" }, 'call: there is no option "inputs", did you mean input?'],
])("a call with wrong options is refused and not journalled (case %#)", async (options, message) => {
  await using runtime = await runtimeWith([]);
  await expect(runtime.call(options as CallOptions)).rejects.toMatchObject(failing("option_invalid", message));
  expect(await listed(runtime.journal)).toEqual([]);
});
