import { expect, test, vi } from "vitest";
import { z } from "zod";
import { createRuntime } from "../../src/index.ts";
import type { Sandbox } from "../../src/sandboxes/index.ts";
import { createMemorySandbox, scriptedModel, type ScriptedTurn } from "../../src/runtime/testing.ts";
import { holdCalls, idle, makeTool } from "../gate/open-session.ts";
import { agentOf, answered, endless, runtimeWith, throws } from "../support/index.ts";
import { changed, checkTranscript, resultsBefore, talk } from "./talk.ts";

const both = ["direct", "programmatic"] as const;
const direct = (changes: Parameters<typeof makeTool>[0] = {}) => makeTool({ allowedCallers: ["direct"], ...changes });
const call = (tool: string, input: unknown = {}) => ({ tool, input });

// ---- the loop --------------------------------------------------------------------------------------------------

test("a call's result is sent under its own id with its source, and the model continues", async () => {
  const stock = makeTool({
    name: "stock.get",
    allowedCallers: ["direct"],
    inputSchema: z.object({ sku: z.string() }),
    execute: ({ sku }) => ({ sku, units: 4 }),
  });
  const talked = await talk([{ calls: [{ id: "c1", ...call("stock.get", { sku: "K-9" }) }] }, { text: "4" }], {
    tools: [stock],
  });
  expect(resultsBefore(talked, 1)).toEqual([
    {
      callId: "c1",
      text: '{"sku":"K-9","units":4}',
      isJson: true,
      isError: false,
      provenance: { tool: "stock.get", bytes: 23, at: expect.any(Number) },
    },
  ]);
  expect(talked.calls).toMatchObject([
    { callId: "c1", tool: "stock.get", caller: "direct", outcome: { type: "value" } },
  ]);
});

test("a model's program runs in the runtime's sandbox, and only its result is sent back", async () => {
  const numbers = makeTool({ name: "numbers", allowedCallers: ["programmatic"], execute: () => [1, 2, 3] });
  const script = [{ programs: ["return (await tools.numbers({})).length"] }, { text: "3" }];
  const talked = await talk(script, { tools: [numbers] });
  expect(resultsBefore(talked, 1)).toMatchObject([
    {
      text: "3",
      isError: false,
      provenance: {
        tool: "run_program",
        bytes: 1,
        summary: expect.stringMatching(/^completed, \d+\.\d s, 1 call, 1 bytes$/),
      },
    },
  ]);
  expect(talked.ending).toEqual({ type: "answered", answer: "3" });
  expect(talked.usage.calls).toBe(1);
  expect(talked.calls).toMatchObject([{ callId: "call-1/1", tool: "numbers", caller: "programmatic" }]);
  expect(talked.model.conversations[0]?.[0]?.opening.runProgram?.description).toContain("tools.numbers(input:");
});

test("a program that is not text gets a result that says so, and nothing runs", async () => {
  const calls = [{ type: "program_call", id: "p", source: undefined } as const];
  const talked = await talk([{ calls }, { text: "?" }], { tools: [], programs: "local" });
  expect(resultsBefore(talked, 1)).toMatchObject([
    { isError: true, text: 'run_program takes the program\'s source as text in the field "code", and got none.' },
  ]);
});

test("calls that their turn did not allow get the reason as their result, and are journalled as refused", async () => {
  let ran = 0;
  const tool = makeTool({ allowedCallers: both, execute: () => (ran += 1) });
  const forbidden = "This turn allowed no calls.";
  const calls = [
    { type: "tool_call", id: "c1", tool: "t", caller: "direct", inputText: "{}", forbidden },
    { type: "program_call", id: "c2", source: "return tools.t({});", forbidden },
  ] as const;
  const talked = await talk([{ calls }, { text: "No." }], { tools: [tool], programs: "local" });
  expect(resultsBefore(talked, 1).map(({ text, isError }) => [text, isError])).toEqual(
    calls.map(() => [forbidden, true]),
  );
  const records = talked.records.filter(({ type }) => type === "call");
  expect([ran, records]).toMatchObject([0, [{ call: "c1", decision: "refused" }]]);
});

test("calls whose effect depends on their input are in order only where they change something", async () => {
  const order: string[] = [];
  const http = makeTool({
    name: "http",
    allowedCallers: ["direct"],
    effect: ({ method }) => (method === "GET" ? "read" : "write"),
    execute: async ({ method, n }) => {
      order.push(`begin ${String(method)} ${String(n)}`);
      await idle();
      await idle();
      order.push(`end ${String(method)} ${String(n)}`);
    },
  });
  const post = (n: number) => call("http", { method: "POST", n });
  const unreadable = { ...call("http"), inputText: "{" };
  const calls = [
    post(1),
    call("http", { method: "GET", n: 1 }),
    unreadable,
    post(2),
    call("http", { method: "GET", n: 2 }),
  ];
  const talked = await talk([{ calls }, { text: "Done." }], { tools: [http] });
  expect(talked.ending.type).toBe("answered");
  expect(order.filter((step) => step.includes("POST"))).toEqual([
    "begin POST 1",
    "end POST 1",
    "begin POST 2",
    "end POST 2",
  ]);
  const begun = order.indexOf("begin GET 2");
  expect(begun).toBeGreaterThan(-1);
  expect(begun).toBeLessThan(order.indexOf("end POST 1"));
});

test("idempotent calls and programs keep their order, and calls of hosted programs do not wait", async () => {
  const order: string[] = [];
  const step = makeTool({
    name: "step",
    allowedCallers: both,
    effect: "idempotent",
    execute: async ({ n }) => {
      order.push(`begin ${String(n)}`);
      await idle();
      order.push(`end ${String(n)}`);
    },
  });
  const inOrder = ["begin 1", "end 1", "begin 2", "end 2"];
  const calls = [1, 2].map((n) => call("step", { n }));
  await talk([{ calls }, { text: "Done." }], { tools: [step] });
  expect(order.splice(0)).toEqual(inOrder);
  await talk([{ programs: [1, 2].map((n) => `await tools.step({ n: ${n} })`) }, { text: "Done." }], { tools: [step] });
  expect(order.splice(0)).toEqual(inOrder);
  const hosted = calls.map((one) => ({ ...one, caller: "programmatic" as const }));
  await talk([{ calls: hosted }, { text: "Done." }], { tools: [step], programs: "hosted" });
  expect(order).toEqual(["begin 1", "begin 2", "end 1", "end 2"]);
});

test("a turn is given the number of remaining tokens", async () => {
  const asked: number[] = [];
  const script = scriptedModel([{ calls: [call("t")], usage: { inputTokens: 30, outputTokens: 10 } }, { text: "4" }]);
  const model = changed(script, (conversation, { turn }) => {
    conversation.turn = (request) => {
      asked.push(request.maxTokens);
      return turn(request);
    };
  });
  await answered([direct()], { model, task: "Do it.", loop: { maxTokens: 100 } });
  expect(asked).toEqual([100, 60]);
});

// ---- who may call what -----------------------------------------------------------------------------------------

test.each<[string, object[], object, string[]]>([
  ["with no programs, a tool for programs", [call("t"), call("absent")], { programs: "none" }, ["t", "absent"]],
  [
    "where the provider runs no programs, a tool that is called as by one",
    [{ tool: "t", caller: "programmatic" }],
    {},
    ["t"],
  ],
])("%s does not exist", async (_, calls, options, names) => {
  const talked = await talk([{ calls } as ScriptedTurn, { text: "No." }], { tools: [makeTool()], ...options });
  const told = names.map((name) => ({ isError: true, text: `There is no tool "${name}".` }));
  expect(resultsBefore(talked, 1)).toMatchObject(told);
});

test("with hosted programs the provider gets each tool's allowed callers, and the gate enforces them", async () => {
  const tools = [
    direct({ name: "forModels" }),
    makeTool({ name: "forPrograms", execute: () => [1, 2] }),
    makeTool({ name: "forBoth", allowedCallers: both }),
  ];
  const calls = ["direct", "programmatic"].flatMap((caller) =>
    tools.map(({ name }) => ({ id: `${caller}-${name}`, tool: name, caller: caller as "direct" })),
  );
  const talked = await talk([{ calls }, { text: "Done." }], { tools, programs: "hosted" });
  expect(talked.model.conversations[0]?.[0]?.opening).toMatchObject({
    hosted: true,
    tools: tools.map(({ name, allowedCallers }) => ({ name, callers: allowedCallers })),
  });
  expect(resultsBefore(talked, 1).map(({ callId, isError, text }) => [callId, isError, text])).toEqual([
    ["direct-forModels", false, '"ok"'],
    ["direct-forPrograms", true, expect.stringMatching(/^forPrograms .*from a program/)],
    ["direct-forBoth", false, '"ok"'],
    ["programmatic-forModels", true, expect.stringMatching(/^forModels .*directly/)],
    ["programmatic-forPrograms", false, "[1,2]"],
    ["programmatic-forBoth", false, '"ok"'],
  ]);
});

test('programs: "hosted" is refused for a model that hosts none, before any request', async () => {
  const asking = talk([{ text: "Hello" }], { tools: [], programs: "hosted", scripted: { hostsPrograms: false } });
  await expect(asking).rejects.toThrow(
    'agent({ programs }): expected "local" or "none", because scripted:script does not host programs that call tools, got "hosted".',
  );
});

// ---- results ---------------------------------------------------------------------------------------------------

test("a hosted program gets whole, unchanged results", async () => {
  const rows = makeTool({ name: "rows", execute: () => `\u001b${"x".repeat(50_000)}` });
  const calls = [{ tool: "rows", caller: "programmatic" as const }];
  const talked = await talk([{ calls }, { text: "Many." }], { tools: [rows], programs: "hosted" });
  expect(resultsBefore(talked, 1)).toMatchObject([{ text: JSON.stringify(`\u001b${"x".repeat(50_000)}`) }]);
});

test("control characters in an invented tool name are escaped", async () => {
  const talked = await talk([{ calls: [call("\u001b[2J")] }, { text: "No." }], { tools: [] });
  expect(resultsBefore(talked, 1)).toMatchObject([{ provenance: { tool: "\\u001b[2J" } }]);
});

test("a call that misses the provider's deadline is given up, the program gets a timeout, and the late answer is dropped once", async () => {
  const held = holdCalls();
  const slow = makeTool({ name: "slow", effect: "write", execute: held.handler });
  const talked = await talk(
    [{ calls: [{ id: "c1", tool: "slow", caller: "programmatic", answerBy: 1 }] }, { text: "Late." }],
    {
      tools: [slow],
      programs: "hosted",
    },
  );
  held.release();
  await idle();
  expect(resultsBefore(talked, 1)).toMatchObject([
    {
      isError: true,
      text: expect.stringMatching(/^TimeoutError: .*slow/) as string,
    },
  ]);
  expect(talked.records.filter((record) => record.type === "call").map(({ decision }) => decision)).toContain(
    "dropped",
  );
  expect(talked.calls).toHaveLength(1);
});

// ---- endings ---------------------------------------------------------------------------------------------------

test("a conversation ends after maxTokens, unless the last turn is an answer", async () => {
  const usage = { inputTokens: 60, outputTokens: 60 };
  const spent = await talk([{ calls: [call("t")], usage }], { tools: [direct()], loop: { maxTokens: 100 } });
  expect(spent.ending).toEqual({ type: "tokens_spent", allowed: 100, seen: 120 });
  expect(spent.calls).toEqual([]);
  const answered = await talk([{ text: "4", usage }], { tools: [], loop: { maxTokens: 100 } });
  expect(answered.ending.type).toBe("answered");
});

test("cancelling aborts running calls, starts no others, and every call has a result", async () => {
  const controller = new AbortController();
  const started = endless();
  const slow = direct({
    effect: "write",
    execute: started.run,
  });
  const talking = talk([{ calls: [call("t"), call("t")] }], { tools: [slow], signal: controller.signal });
  await started.begun;
  controller.abort();
  const { ending, transcript, calls } = await talking;
  expect(ending).toEqual({ type: "cancelled" });
  expect(transcript.turns[0]?.results).toHaveLength(2);
  expect(calls).toMatchObject([{ outcome: { type: "aborted" } }]);
});

test("a conversation that is cancelled before its start sends no request, and one whose tokens are spent at the same time ends as cancelled", async () => {
  const before = await talk([{ text: "4" }], { tools: [], signal: AbortSignal.abort() });
  expect([before.ending, before.model.conversations]).toEqual([{ type: "cancelled" }, [[]]]);
  const controller = new AbortController();
  const clerk = agentOf("clerk", scriptedModel([{ text: "4", usage: { inputTokens: 500 } }]), {
    allowedCallers: ["direct"],
  });
  const during = await talk([{ calls: [call("clerk", { task: "2 + 2?" })] }], {
    tools: [clerk],
    signal: controller.signal,
    onEvent: (event) => event.type === "call_ended" && controller.abort(),
    loop: { maxTokens: 100 },
  });
  expect(during.ending).toEqual({ type: "cancelled" });
});

test("cancelling when a turn arrives makes none of its calls, and the transcript and usage have the turn", async () => {
  const controller = new AbortController();
  const usage = { inputTokens: 10, outputTokens: 4 };
  const talked = await talk([{ text: "I look.", calls: [call("t")], usage }], {
    tools: [direct()],
    signal: controller.signal,
    onEvent: ({ type }) => type === "turn_ended" && controller.abort(),
  });
  expect([talked.ending.type, talked.calls, talked.usage.turns]).toEqual(["cancelled", [], 1]);
  expect(talked.transcript.turns[0]?.results).toMatchObject([
    { isError: true, text: expect.stringContaining("(cancelled)") as string },
  ]);
  expect(() => checkTranscript(talked.transcript)).not.toThrow();
});

test("an answer that has arrived counts, even if it is cancelled at that moment", async () => {
  const controller = new AbortController();
  const { ending } = await talk([{ text: "4" }], {
    tools: [],
    signal: controller.signal,
    onEvent: ({ type }) => type === "turn_ended" && controller.abort(),
  });
  expect(ending).toEqual({ type: "answered", answer: "4" });
});

test("programs count as calls: of four hundred in one turn the allowed number run, and the others are refused with the limit", async () => {
  const programs = Array.from({ length: 400 }, () => "return 1");
  const talked = await talk([{ programs }, { text: "4" }], { tools: [], programs: "local", limits: { calls: 10 } });
  const results = resultsBefore(talked, 1);
  expect(results.map(({ isError }) => isError)).toEqual(programs.map((_, index) => index >= 10));
  expect(results.slice(10).every(({ text }) => text.includes("may make 10 calls (limit calls)"))).toBe(true);
  expect(talked.events.filter(({ type }) => type === "program_started")).toHaveLength(10);
  expect(
    talked.calls.filter(({ outcome }) => outcome.type === "refused" && outcome.code === "budget_spent"),
  ).toHaveLength(390);
});

test("if a model's own code throws, agent rejects and the journal has an outcome", async () => {
  await using runtime = await runtimeWith([]);
  const script = [throws("a mistake")];
  await expect(runtime.agent({ model: scriptedModel(script), task: "Do it." })).rejects.toThrow("a mistake");
  for await (const { ended } of runtime.journal.list()) expect(ended).toBe(true);
});

test("if the sandbox cannot open a guest, agent rejects and the calls beside the program do not run", async () => {
  const memory = createMemorySandbox();
  let opened = 0;
  const sandbox: Sandbox = {
    name: memory.name,
    languages: memory.languages,
    open: async (...parts) => {
      opened += 1;
      if (opened === 1) throw new Error("no guest");
      return await memory.open(...parts);
    },
    [Symbol.asyncDispose]: () => memory[Symbol.asyncDispose](),
  };
  const ran = vi.fn(() => "ok");
  await using runtime = await createRuntime({ tools: [makeTool({ execute: ran })], sandbox });
  const ended = Promise.withResolvers<void>();
  const asking = runtime.agent({
    model: scriptedModel([{ programs: ["return 1", "return await tools.t({})"] }]),
    task: "Do it.",
    onEvent: (event) => event.type === "program_ended" && ended.resolve(),
  });
  await expect(asking).rejects.toThrow("no guest");
  await ended.promise;
  expect(ran).not.toHaveBeenCalled();
});

// ---- options ---------------------------------------------------------------------------------------------------

test.each<[object, string]>([
  [{ task: " " }, 'agent({ task }): expected a non-blank string, got " ".'],
  [{ loop: { maxTurns: 0 } }, "agent({ loop: { maxTurns } }): expected a whole number from 1 to 10000, got 0."],
  [{ programs: "remote" }, 'agent({ programs }): expected "local", "hosted" or "none", got "remote".'],
  [{ maxTurns: 1 }, 'agent: there is no option "maxTurns"'],
  [{ loop: { maxTurn: 1 } }, 'agent({ loop }): there is no option "maxTurn", did you mean maxTurns?'],
])("a wrong option is told: %j", async (options, message) => {
  await expect(talk([], { tools: [], ...options })).rejects.toThrow(message);
});

test("a tool named run_program is refused where programs run", async () => {
  const tool = direct({ name: "run_program" });
  await expect(talk([], { tools: [tool], programs: "local" })).rejects.toThrow('A tool is called "run_program"');
  expect((await talk([{ text: "4" }], { tools: [tool] })).ending.type).toBe("answered");
});

test("a call by an unknown caller is refused and journalled", async () => {
  const calls = [{ tool: "t", caller: "unknown" as const }];
  const tools = [makeTool({ allowedCallers: both })];
  const talked = await talk([{ calls }, { text: "No." }], { tools, programs: "hosted" });
  const text = expect.stringContaining("of an unknown kind") as string;
  expect(resultsBefore(talked, 1)).toMatchObject([{ isError: true, text }]);
  expect(talked.records).toContainEqual(
    expect.objectContaining({ type: "call", caller: "unknown", decision: "refused", code: "caller_not_allowed" }),
  );
});
