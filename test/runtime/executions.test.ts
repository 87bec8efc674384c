import { expect, test, vi } from "vitest";
import { createRuntime, type ExecutionEvent, type Runtime, type RuntimeOptions, type Tool } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { holdCalls, idle, makeTool } from "../gate/open-session.ts";
import { agentOf, failing, runtimeWith } from "../support/index.ts";

const sandbox = createMemorySandbox();
const CALL = "return tools.held({});";

const start = (options: RuntimeOptions) => createRuntime({ sandbox, ...options });

/** A runtime with a tool whose calls stay open until they are released, and what it tells. */
async function held(
  executions: RuntimeOptions["executions"],
  more: Partial<RuntimeOptions> & { readonly tools?: readonly Tool[] } = {},
) {
  const calls = holdCalls();
  const order: string[] = [];
  const events: ExecutionEvent[] = [];
  const tool = makeTool({
    name: "held",
    execute: (_, { tenant }) => {
      order.push(tenant);
      return calls.handler();
    },
  });
  const runtime = await createRuntime({
    sandbox,
    onEvent: (event) => events.push(event),
    ...more,
    tools: [tool, ...(more.tools ?? [])],
    ...(executions && { executions }),
  });
  return { runtime, calls, order, events };
}

test("as many executions run as may, the next ones wait without a clock, and the runtime tells how many", async () => {
  const { runtime, calls, events } = await held({ concurrency: 2 }, { limits: { wallMs: 60_000 } });
  await using _ = runtime;
  const running = Array.from({ length: 5 }, (__, n) => runtime.execute(CALL, { id: `e${n}` }));
  await calls.untilStarted(2);
  expect(runtime.queue).toEqual({ running: 2, waiting: 3 });
  expect(events.filter(({ type }) => type === "execution_queued")).toEqual(
    [1, 2, 3].map((waiting) => ({
      type: "execution_queued",
      execution: `e${waiting + 1}`,
      tenant: "default",
      running: 2,
      waiting,
      at: expect.any(Number) as number,
    })),
  );
  await calls.finish(5);
  for (const { outcome } of await Promise.all(running)) expect(outcome.type).toBe("completed");
  expect(calls.counts.mostAtOnce).toBe(2);
  expect(runtime.queue).toEqual({ running: 0, waiting: 0 });
});

test("tenants are served in turn, and none has more than its share", async () => {
  const { runtime, calls, order } = await held({ concurrency: 2, perTenant: 1 });
  await using _ = runtime;
  const running = ["a", "a", "a", "b", "b"].map((tenant) => runtime.execute(CALL, { tenant }));
  await calls.untilStarted(2);
  await calls.finish(5);
  await Promise.all(running);
  expect(order).toEqual(["a", "b", "a", "b", "a"]);
});

test.each([1, 2, 8])("executions of two tenants that never end keep no third from a place of %i", async (atOnce) => {
  const { runtime, calls, order } = await held({ concurrency: atOnce });
  const ending = new AbortController();
  const { signal } = ending;
  const run = (tenant: string) => runtime.execute(CALL, { tenant, signal });
  const running = Array.from({ length: 3 * atOnce }, () => run("a"));
  await calls.untilStarted(atOnce);
  expect(runtime.queue).toEqual({ running: atOnce, waiting: 2 * atOnce });
  for (const [index, tenant] of ["b", "c"].slice(0, atOnce).entries()) {
    running.push(run(tenant));
    await calls.untilStarted(atOnce + index + 1);
    expect(order.at(-1)).toBe(tenant);
  }
  ending.abort();
  await Promise.all(running);
  await runtime[Symbol.asyncDispose]();
});

test("where as many wait as may, the tenant with the most is refused with `busy`, and nothing of it was started", async () => {
  const { runtime, calls, events } = await held({ concurrency: 1, queued: 2 });
  await using _ = runtime;
  const first = runtime.execute(CALL, { tenant: "a" });
  // A tenant that has no place takes one beyond.
  const beyond = runtime.execute(CALL, { tenant: "b" });
  await calls.untilStarted(2);
  const [second, third] = [runtime.execute(CALL, { tenant: "a" }), runtime.execute(CALL, { tenant: "a" })];
  third.catch(() => {});
  const other = runtime.execute(CALL, { tenant: "b" });
  await expect(third).rejects.toMatchObject(
    failing("busy", "2 wait already (createRuntime({ executions: { queued } }))"),
  );
  expect(runtime.queue).toEqual({ running: 2, waiting: 2 });
  expect(events.filter(({ type }) => type === "execution_started")).toHaveLength(2);
  const queued = () => events.filter(({ type }) => type === "execution_queued").length;
  expect(queued()).toBe(3);
  // One that is refused at once has not waited.
  await expect(runtime.execute(CALL, { tenant: "a" })).rejects.toMatchObject({ code: "busy" });
  expect(queued()).toBe(3);
  await calls.finish(4);
  expect((await Promise.all([first, beyond, second, other])).map(({ outcome }) => outcome.type)).toEqual(
    Array.from({ length: 4 }, () => "completed"),
  );
});

test("one that is cancelled while it waits ends as cancelled at once, and leaves the line", async () => {
  const { runtime, calls } = await held({ concurrency: 1 });
  const first = runtime.execute(CALL);
  await calls.untilStarted(1);
  const abort = new AbortController();
  const second = runtime.execute(CALL, { signal: abort.signal });
  const third = runtime.execute(CALL);
  await idle();
  abort.abort();
  expect((await second).outcome).toEqual({ type: "cancelled" });
  expect(runtime.queue).toEqual({ running: 1, waiting: 1 });
  await runtime[Symbol.asyncDispose]();
  expect([(await first).outcome.type, (await third).outcome.type]).toEqual(["cancelled", "cancelled"]);
  expect(calls.counts.started).toBe(1);
  expect(runtime.queue).toEqual({ running: 0, waiting: 0 });
});

test("conversations, calls of a host and executions that are taken up need a place", async () => {
  const { runtime, calls } = await held({ concurrency: 1, queued: 0 });
  await using _ = runtime;
  const first = runtime.execute(CALL);
  await calls.untilStarted(1);
  const model = scriptedModel([{ text: "Done." }]);
  for (const attempt of [
    () => runtime.agent({ model, task: "Do it." }),
    () => runtime.call({ tool: "held", input: {}, caller: "programmatic" }),
    () => runtime.execution("gone").resume(),
    () => runtime.execute("return 1;"),
  ])
    await expect(attempt()).rejects.toMatchObject({ code: "busy" });
  calls.release();
  await first;
});

test("a conversation that is held has a place while it is asked, and none while it rests", async () => {
  const { runtime, calls } = await held({ concurrency: 1 });
  await using _ = runtime;
  const model = scriptedModel([{ text: "One." }, { text: "Two." }]);
  await using talk = await runtime.conversation({ model });
  await talk.send("Go on.");
  expect(runtime.queue).toEqual({ running: 0, waiting: 0 });
  const running = runtime.execute(CALL);
  await calls.untilStarted(1);
  const saying = talk.send("Go on.");
  await idle();
  expect(runtime.queue).toEqual({ running: 1, waiting: 1 });
  talk.interrupt();
  expect((await saying).ending.type).toBe("cancelled");
  calls.release();
  await running;
  expect((await talk.send("Go on.")).ending).toMatchObject({ type: "answered", answer: "Two." });
});

test("what an execution starts has its place: programs and agents of a conversation, and what a handler runs, wait for none", async () => {
  const later: { runtime?: Runtime } = {};
  const nested = makeTool({
    name: "nested",
    execute: async () => (await later.runtime?.execute("return 7;"))?.outcome,
  });
  const inner = scriptedModel([{ programs: ["return 1;"] }, { text: "Found." }]);
  const ask = agentOf("ask", inner, { tools: [makeTool()], allowedCallers: ["programmatic"] });
  await using runtime = await start({ tools: [nested, ask], executions: { concurrency: 1, queued: 0 } });
  later.runtime = runtime;
  const program = 'return [await tools.nested({}), await tools.ask({ task: "Do it." })];';
  const model = scriptedModel([{ programs: [program] }, { text: "Done." }]);
  const { ending, transcript } = await runtime.agent({ model, task: "Do it." });
  expect(ending).toMatchObject({ type: "answered", answer: "Done." });
  expect(transcript.turns[0]?.results[0]?.text).toContain('[{"type":"completed","value":7},"Found."]');
});

test("what an execution has begun and left behind needs a place of its own once the execution has ended", async () => {
  const later: { runtime?: Runtime; go?: () => void } = {};
  const ended = new Promise<void>((resolve) => (later.go = resolve));
  const started: Promise<unknown>[] = [];
  const leave = makeTool({
    name: "leave",
    execute: () => {
      started.push(ended.then(() => later.runtime?.execute("return 1;")));
      return null;
    },
  });
  const { runtime, calls } = await held({ concurrency: 1, queued: 0 }, { tools: [leave] });
  await using _ = runtime;
  later.runtime = runtime;
  await runtime.execute("return tools.leave({});");
  const running = runtime.execute(CALL);
  await calls.untilStarted(1);
  later.go?.();
  await expect(started[0]).rejects.toMatchObject({ code: "busy" });
  calls.release();
  await running;
});

test("an execution of a second runtime between two of the first leaves them one place", async () => {
  const later: { runtime?: Runtime; second?: Runtime } = {};
  const across = makeTool({
    name: "across",
    execute: async () => (await later.second?.execute("return tools.back({});"))?.outcome.type,
  });
  const back = makeTool({
    name: "back",
    execute: async () => (await later.runtime?.execute("return 7;"))?.outcome.type,
  });
  const executions = { concurrency: 1, queued: 0 };
  await using runtime = await runtimeWith([across], { executions });
  await using second = await runtimeWith([back], { executions });
  Object.assign(later, { runtime, second });
  expect((await runtime.execute("return tools.across({});")).outcome).toEqual({
    type: "completed",
    value: "completed",
  });
});

test("without the option nothing waits, and options that cannot be are refused", async () => {
  const { runtime, calls } = await held(undefined);
  const running = Array.from({ length: 20 }, () => runtime.execute(CALL));
  await calls.untilStarted(20);
  expect(runtime.queue).toEqual({ running: 20, waiting: 0 });
  await runtime[Symbol.asyncDispose]();
  await Promise.all(running);
  const open = vi.fn();
  for (const [executions, message] of [
    [
      { concurrency: 0 },
      "createRuntime({ executions: { concurrency } }): expected a whole number of at least 1, got 0.",
    ],
    [
      { most: 1 },
      'createRuntime({ executions }): there is no option "most". The options are concurrency, perTenant, queued.',
    ],
  ] as const)
    await expect(runtimeWith([], { executions: executions as never })).rejects.toMatchObject({
      message,
    });
  expect(open).not.toHaveBeenCalled();
});

test("records and replays of another tenant's execution are refused as those of an unknown one", async () => {
  await using runtime = await start({ tools: [], journal: createMemoryJournal() });
  await runtime.execute("return 1;", { id: "e", tenant: "b" });
  const other = runtime.execution("e");
  const reads = [other.records(), other.replay(), other.status(), other.wait()];
  for (const { status, reason } of (await Promise.allSettled(reads)) as PromiseRejectedResult[])
    expect([status, reason]).toMatchObject(["rejected", { code: "execution_unknown" }]);
  await expect(other.resume(null as never)).rejects.toMatchObject({ code: "option_invalid" });
  await using own = runtime.derive({ tenant: "b" });
  expect(await own.execution("e").replay()).toMatchObject({ type: "identical" });
});

test("a replay gets no more than its runtime allows, whatever the journal names", async () => {
  const journal = createMemoryJournal();
  {
    await using runtime = await start({ tools: [], journal, limits: { memoryBytes: 256 * 1024 * 1024 } });
    await runtime.execute("return 1;", { id: "e" });
  }
  const opened: number[] = [];
  const counting: typeof sandbox = Object.assign(Object.create(sandbox) as typeof sandbox, {
    open: (...given: Parameters<typeof sandbox.open>) => {
      opened.push(given[0].limits.memoryBytes);
      return sandbox.open(...given);
    },
  });
  await using runtime = await createRuntime({
    tools: [],
    journal,
    sandbox: counting,
    limits: { memoryBytes: 32 * 1024 * 1024 },
  });
  await runtime.execution("e").replay();
  expect(opened).toEqual([32 * 1024 * 1024]);
});

test("the code of an error that a program throws is redacted like its message", async () => {
  const events: unknown[] = [];
  await using runtime = await runtimeWith([], {
    redact: ({ text }) =>
      Array.from(text.matchAll(/SECRET/g), ({ index }) => ({ start: index, end: index + 6, what: "secret" })),
    onEvent: (event) => events.push(event),
  });
  const { outcome } = await runtime.execute("throw Object.assign(new Error('SECRET'), { code: 'SECRET' });");
  expect(outcome).toMatchObject({ type: "failed", fault: { name: "Error" } });
  expect(JSON.stringify([outcome, events])).not.toContain("SECRET");
});
