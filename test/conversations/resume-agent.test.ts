import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type AgentReport, PortcullisError, type Tool } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { scriptedModel, type ScriptedMoment, type ScriptedStep } from "../../src/runtime/testing.ts";
import { cutAfter, journalWith, recorded } from "../support/journal-with.ts";
import { timeless } from "../support/timeless.ts";
import { agentOf, makeTool, payTool } from "../support/tools.ts";
import { testOfAll } from "../support/all-tests.ts";
import { checkTranscript, FIRST, TEXTS } from "./talk.ts";
import { failing } from "../support/failing.ts";
import { runtimeWith } from "../support/runtime.ts";

const later = () => "later" as const;
const LEASE_MS = 100;

const stock = makeTool({
  name: "stock",
  outputSchema: z.object({ units: z.number() }),
  allowedCallers: ["direct", "programmatic"],
  execute: "client",
});

const look = makeTool({ name: "look", allowedCallers: ["direct", "programmatic"], execute: () => [1, 2, 3] });

/** Begins a conversation in a runtime that is closed after it. */
async function begin(journal: Journal, tools: readonly Tool[], script: readonly ScriptedStep[]): Promise<AgentReport> {
  await using runtime = await runtimeWith(tools, { journal, approve: later, leaseMs: LEASE_MS });
  return await runtime.agent({ model: scriptedModel(script), task: "Do it." });
}

/** Takes a conversation up in a runtime of its own. */
async function goOn(
  journal: Journal,
  tools: readonly Tool[],
  script: readonly ScriptedStep[],
  execution: string,
  said: object = {},
): Promise<AgentReport> {
  await using runtime = await runtimeWith(tools, { journal, leaseMs: LEASE_MS, approve: later });
  return await runtime.execution(execution).resume({ model: scriptedModel(script), ...said });
}

const pay = (euros: number, id = `pay-${euros}`) => ({ id, tool: "pay", input: { euros } });

describe("a conversation that waits", () => {
  test("has answered everything else first, lists its calls, and goes on in another runtime", async () => {
    const { tool, paid } = payTool();
    const tools = [tool, look, stock];
    const journal = createMemoryJournal();
    const asked: number[] = [];
    const script: readonly ScriptedStep[] = [
      () => {
        asked.push(1);
        return { calls: [pay(1), { id: "look-1", tool: "look" }, pay(2), { id: "stock-1", tool: "stock" }] };
      },
      ({ results }) => {
        asked.push(2);
        return { text: results.map(({ text }) => text).join(" ") };
      },
    ];
    const waiting = await begin(journal, tools, script);
    expect(waiting.ending).toMatchObject({
      type: "waiting",
      approvals: [
        { callId: "pay-1", tool: "pay", input: { euros: 1 }, why: "approval" },
        { callId: "pay-2", tool: "pay", input: { euros: 2 }, why: "approval" },
      ],
      calls: [{ callId: "stock-1", tool: "stock", input: {} }],
    });
    expect(waiting.calls.map(({ callId }) => callId)).toEqual(["look-1"]);
    expect(() => checkTranscript(waiting.transcript)).not.toThrow();
    const { execution } = waiting;

    await using runtime = await runtimeWith(tools, { journal });
    const [listed] = await Array.fromAsync(runtime.executions.list({ open: true }));
    expect(listed).toMatchObject({ execution, kind: "conversation", state: "waiting", driven: false });
    expect(listed?.waitsFor.toSorted()).toEqual(["pay", "stock"]);
    await runtime.execution(execution).decide({ "pay-2": { allow: false, by: "ann", note: "too much" } });
    await expect(runtime.execution(execution).decide({ "pay-2": { allow: true } })).rejects.toThrow("by ann");

    const still = await goOn(journal, tools, script, execution, { decisions: { "pay-1": { allow: true } } });
    expect(still.ending).toMatchObject({ type: "waiting", approvals: [], calls: [{ callId: "stock-1" }] });
    const ended = await goOn(journal, tools, script, execution, { results: { "stock-1": { value: { units: 4 } } } });
    expect(ended.answer).toMatch(/^\{"paid":1\} \[1,2,3\] .*denied.* "too much" \{"units":4\}$/);
    expect(asked).toEqual([1, 2]);
    expect([...paid.values()]).toEqual([1]);
    expect(ended.usage).toMatchObject({ turns: 2, calls: 4 });
    expect(() => checkTranscript(ended.transcript)).not.toThrow();
    expect(await goOn(journal, tools, script, execution)).toEqual(ended);
  });

  test("waits for its program, which goes on as the same execution", async () => {
    const { tool, paid } = payTool();
    const tools = [tool, look];
    const journal = createMemoryJournal();
    const program = `
      const seen = await tools.look({});
      const both = await Promise.all(seen.slice(1).map((euros) => tools.pay({ euros })));
      return { seen: seen.length, both };`;
    const script: readonly ScriptedStep[] = [{ programs: [program], calls: [pay(9)] }, TEXTS];
    const waiting = await begin(journal, tools, script);
    const program1 = waiting.transcript.turns[0]?.turn.calls.find(({ type }) => type === "program_call")?.id ?? "";
    expect(waiting.ending).toMatchObject({
      type: "waiting",
      approvals: [{ callId: "pay-9" }, { callId: `${program1}/2` }, { callId: `${program1}/3` }],
    });
    const { execution } = waiting;
    const child = await Array.fromAsync(journal.list({ open: true }), (one) => one.execution);
    expect(child).toHaveLength(2);

    await using runtime = await runtimeWith(tools, { journal, leaseMs: LEASE_MS, approve: later });
    const parents = await Array.fromAsync(runtime.executions.list({ open: true }), ({ kind, parent }) => [
      kind,
      parent,
    ]);
    expect(parents.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      ["conversation", undefined],
      ["program", execution],
    ]);
    const model = scriptedModel(script);
    await expect(runtime.execution(child.find((id) => id !== execution) ?? "").resume()).rejects.toThrow(
      "resume that execution",
    );
    const unknown = runtime.execution(execution).resume({ model, decisions: { [`${program1}/7`]: { allow: true } } });
    await expect(unknown).rejects.toMatchObject({ code: "call_unknown" });
    await runtime.execution(execution).decide({ [`${program1}/2`]: { allow: true }, "pay-9": { allow: true } });
    const half = await runtime.execution(execution).resume({ model });
    expect(half.ending).toMatchObject({ approvals: [{ callId: `${program1}/3` }] });
    const ended = await runtime.execution(execution).resume({
      model,
      decisions: { [`${program1}/3`]: { allow: false, note: "no" } },
    });
    expect(ended.ending).toMatchObject({ type: "answered" });
    expect(ended.answer).toContain("approval was denied");
    expect(ended.calls.map(({ callId }) => callId).toSorted()).toEqual(
      ["pay-9", `${program1}/1`, `${program1}/2`, `${program1}/3`].toSorted(),
    );
    expect(ended.usage).toMatchObject({ calls: 4 });
    expect([...paid.values()]).toEqual([1, 1]);
    expect(await Array.fromAsync(journal.list({ open: true }))).toEqual([]);
  });

  test("takes a decision that comes while it is driven", async () => {
    const { tool } = payTool();
    const journal = createMemoryJournal();
    const held = Promise.withResolvers<void>();
    const slow = makeTool({ name: "slow", allowedCallers: ["direct"], execute: () => held.promise.then(() => "slow") });
    await using runtime = await runtimeWith([tool, slow], { journal, approve: later });
    const script: readonly ScriptedStep[] = [
      { calls: [pay(1), { id: "slow-1", tool: "slow" }] },
      ({ results }) => ({ text: results.map(({ text }) => text).join(" ") }),
    ];
    const waits = Promise.withResolvers<string>();
    const approve = ({ execution }: { readonly execution: string }) => {
      waits.resolve(execution);
      return "later" as const;
    };
    const running = runtime.agent({ model: scriptedModel(script), task: "Do it.", approve });
    const execution = await waits.promise;
    await runtime.execution(execution).decide({ "pay-1": { allow: true } });
    held.resolve();
    expect((await running).answer).toBe('{"paid":1} "slow"');
  });

  test("an agent that is a tool cannot wait: its call is denied with a sentence", async () => {
    const { tool } = payTool();
    const inner = scriptedModel([{ calls: [pay(1)] }, FIRST]);
    const desk = agentOf("desk", inner, { tools: [tool], allowedCallers: ["direct"] });
    const script: readonly ScriptedStep[] = [{ calls: [{ id: "d", tool: "desk", input: { task: "Pay." } }] }, FIRST];
    expect((await begin(createMemoryJournal(), [desk], script)).answer).toContain("approval is not available here");
  });
});

describe("bad input", () => {
  const script: readonly ScriptedStep[] = [{ calls: [pay(1), { id: "stock-1", tool: "stock" }] }, { text: "Done." }];

  async function waitingOne() {
    const { tool } = payTool();
    const journal = createMemoryJournal();
    const tools = [tool, stock];
    const { execution } = await begin(journal, tools, script);
    const before = await Array.fromAsync(journal.read(execution));
    const runtime = await runtimeWith(tools, { journal });
    return { execution, journal, runtime, before, model: scriptedModel(script) };
  }

  test.each([
    ["an unknown conversation", "nothing", {}, "execution_unknown"],
    ["an unknown call", "", { decisions: { x: { allow: true } } }, "call_unknown"],
    ["a result for a call that is no client's", "", { results: { "pay-1": { value: 1 } } }, "call_unknown"],
    ["done for a call that was not begun", "", { decisions: { "pay-1": { done: { value: 1 } } } }, "call_unknown"],
    ["another tenant", "", { tenant: "acme" }, "execution_unknown"],
    [
      "a call called __proto__",
      "",
      { decisions: JSON.parse('{"__proto__":{"allow":true}}') as Record<string, { allow: boolean }> },
      "call_unknown",
    ],
    [
      "another model",
      "",
      { model: scriptedModel(script, { name: "other:m" }), decisions: { "pay-1": { allow: true } } },
      "option_invalid",
    ],
    ["other tools", "", { tools: ["pay"], decisions: { "pay-1": { allow: true } } }, "tools_changed"],
  ])("%s is refused, and changes nothing", async (_, id, options, code) => {
    const { execution, journal, runtime, before, model } = await waitingOne();
    onTestFinished(() => runtime[Symbol.asyncDispose]());
    const { tenant = "default", ...resuming } = options as { readonly tenant?: string };
    const resumed = runtime.execution(id || execution, { tenant }).resume({ model, ...resuming });
    await expect(resumed).rejects.toMatchObject({ code });
    expect(await Array.fromAsync(journal.read(execution))).toEqual(before);
  });

  test("a program is no conversation, and a conversation no program", async () => {
    const { execution, runtime, model } = await waitingOne();
    onTestFinished(() => runtime[Symbol.asyncDispose]());
    await runtime.execute("return 1", { id: "program" });
    await expect(runtime.execution("program").resume({ model })).rejects.toMatchObject(
      failing("option_invalid", /"program" is a program, .*without `model`/),
    );
    await expect(runtime.execution(execution).resume()).rejects.toThrow("is a conversation. Give the `model`");
  });
});

test("an approver that is given to the resume is asked about what waits, also in programs", async () => {
  const { tool, paid } = payTool();
  const journal = createMemoryJournal();
  const script: readonly ScriptedStep[] = [
    { calls: [pay(1)], programs: ["return tools.pay({ euros: 2 })"] },
    ({ results }) => ({ text: results.map(({ text }) => text).join(" ") }),
  ];
  const { execution } = await begin(journal, [tool], script);
  await using runtime = await runtimeWith([tool], { journal, approve: later });
  const model = scriptedModel(script);
  const asked: unknown[] = [];
  const still = await runtime
    .execution(execution)
    .resume({ model, approve: ({ input }) => (asked.push(input), "later") });
  expect(still.ending).toMatchObject({ type: "waiting", approvals: [{}, {}] });
  expect(asked).toEqual([{ euros: 1 }, { euros: 2 }]);
  const ended = await runtime.execution(execution).resume({ model, approve: () => true });
  expect(ended.answer).toBe('{"paid":1} {"paid":2}');
  expect([...paid.values()]).toEqual([1, 1]);

  await runtime.execute("return tools.pay({ euros: 3 })", { id: "program" });
  expect((await runtime.execution("program").resume()).outcome.type).toBe("waiting");
  const report = await runtime.execution("program").resume({ approve: () => ({ allow: false, note: "no" }) });
  expect(report.outcome).toMatchObject({ type: "failed", fault: { code: "approval_denied" } });
});

test("the same id again joins a conversation, gives its report, and begins no second one", async () => {
  const journal = createMemoryJournal();
  let asked = 0;
  const script: readonly ScriptedStep[] = [
    () => {
      asked += 1;
      return { calls: [{ id: "look-1", tool: "look" }] };
    },
    { text: "Done." },
  ];
  const model = scriptedModel(script);
  await using runtime = await runtimeWith([look], { journal });
  const ask = (task = "Do it.") => runtime.agent({ model, task, id: "order-1" });
  const [first, second] = await Promise.all([ask(), ask()]);
  expect(first.answer).toBe("Done.");
  expect(second).toEqual(first);
  expect(await ask()).toMatchObject({ execution: "order-1", answer: "Done.", calls: [{ callId: "look-1" }] });
  expect(asked).toBe(1);
  await expect(ask("Do something else.")).rejects.toMatchObject({ code: "execution_exists" });
  const other = scriptedModel(script, { name: "other:m" });
  const conflict = runtime.agent({ model: other, task: "Do it.", id: "order-1" });
  await expect(conflict).rejects.toMatchObject({ code: "execution_exists" });
});

test("recover takes conversations up with the models that it is given, and leaves the others open", async () => {
  const { journal, appended } = recorded();
  const script: readonly ScriptedStep[] = [{ programs: ["return (await tools.look({})).length"] }, FIRST];
  const { execution } = await begin(journal, [look], script);
  const copy = await cutAfter(appended, appended.findIndex(([id]) => id !== execution) + 2);
  await using runtime = await runtimeWith([look], { journal: copy, leaseMs: LEASE_MS });
  expect(await Array.fromAsync(runtime.recover())).toEqual([]);
  expect(await Array.fromAsync(copy.list({ open: true }))).toHaveLength(2);
  const recovered = await Array.fromAsync(
    runtime.recover({
      model: ({ model, task, tenant }) => {
        expect({ model, task, tenant }).toEqual({ model: "scripted:script", task: "Do it.", tenant: "default" });
        return scriptedModel(script);
      },
    }),
  );
  expect(recovered).toMatchObject([{ execution, answer: "3" }]);
  expect(await Array.fromAsync(copy.list({ open: true }))).toEqual([]);
});

test("a program whose conversation has ended without it is ended by recover, and not run", async () => {
  const { journal, appended } = recorded();
  const { execution } = await begin(journal, [look], [{ programs: ["return (await tools.look({})).length"] }]);
  const ofProgram = appended.filter(([id, record]) => id !== execution && record.type !== "outcome").slice(0, 2);
  const ofConversation = appended.filter(([id]) => id === execution);
  const copy = await cutAfter([...ofConversation, ...ofProgram], ofConversation.length + 2);
  await using runtime = await runtimeWith([look], { journal: copy });
  expect(await Array.fromAsync(runtime.recover())).toMatchObject([{ outcome: { type: "cancelled" }, calls: [] }]);
  expect(await Array.fromAsync(copy.list({ open: true }))).toEqual([]);
});

testOfAll(
  "a conversation that is cut after any record goes on to the same end, and pays each payment once",
  async () => {
    const program = `
    const [, ...rest] = await tools.look({});
    const sum = { paid: 0, units: (await tools.stock({})).units };
    for (const euros of rest) sum.paid += (await tools.pay({ euros })).paid;
    return sum;`;
    const asked: (readonly [turn: number, cut: number])[] = [];
    let cut = 0;
    const noting = (turn: number, step: ScriptedStep) => (moment: ScriptedMoment) => {
      asked.push([turn, cut]);
      return typeof step === "function" ? step(moment) : step;
    };
    const script: readonly ScriptedStep[] = [
      noting(0, { text: "I look.", calls: [{ id: "look-1", tool: "look" }, pay(1)] }),
      noting(1, { programs: [program], calls: [pay(5), { id: "stock-2", tool: "stock" }] }),
      noting(2, TEXTS),
    ];
    const approveAll = (report: AgentReport) => {
      if (report.ending.type !== "waiting") return {};
      const { approvals, calls } = report.ending;
      return {
        decisions: Object.fromEntries(approvals.map(({ callId, hold }) => [callId, { allow: true, hold }])),
        results: Object.fromEntries(calls.map(({ callId }) => [callId, { value: { units: 4 } }])),
      };
    };
    const untilAnswered = async (journal: Journal, tools: readonly Tool[], first: AgentReport) => {
      let report = first;
      for (let round = 0; report.ending.type === "waiting" && round < 10; round += 1)
        report = await goOn(journal, tools, script, report.execution, approveAll(report));
      return report;
    };
    const whole = payTool();
    const { journal, appended } = recorded();
    const wholeTools = [whole.tool, look, stock];
    const expected = await untilAnswered(journal, wholeTools, await begin(journal, wholeTools, script));
    expect(expected.ending.type).toBe("answered");
    expect([...whole.paid.values()]).toEqual([1, 1, 1, 1]);
    const { execution } = expected;

    for (cut = 1; cut <= appended.length; cut += 1) {
      const { tool, paid } = payTool();
      const copy = await cutAfter(appended, cut);
      const tools = [tool, look, stock];
      const turnsThere = appended
        .slice(0, cut)
        .filter(([, record]) => record.type === "message" && record.from === "model").length;
      const report = await untilAnswered(copy, tools, await goOn(copy, tools, script, execution));
      const { transcript, answer, usage } = report;
      expect({ cut, answer, usage, transcript: timeless(transcript) }).toEqual({
        cut,
        answer: expected.answer,
        usage: expected.usage,
        transcript: timeless(expected.transcript),
      });
      expect(report.calls.map(({ callId }) => callId).toSorted()).toEqual(
        expected.calls.map(({ callId }) => callId).toSorted(),
      );
      // A recorded turn is not asked for again.
      expect(asked.filter(([, at]) => at === cut).map(([turn]) => turn)).toEqual([0, 1, 2].slice(turnsThere));
      // Each payment has one key, and this process has made it at most once.
      expect([...paid.values()].every((times) => times === 1)).toBe(true);
      expect(await Array.fromAsync(copy.list({ open: true }))).toEqual([]);
    }
  },
);

test("a conversation whose journal another driver has claimed stops, and leaves its program to the other", async () => {
  const journal = createMemoryJournal();
  const begun = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  let runs = 0;
  const work = makeTool({
    name: "work",
    execute: (_, { signal }) => {
      runs += 1;
      if (runs > 1) return "done";
      begun.resolve();
      return new Promise<never>(() => signal.addEventListener("abort", () => aborted.resolve()));
    },
  });
  const script: readonly ScriptedStep[] = [{ programs: ["return await tools.work({});"] }, FIRST];
  await using runtime = await runtimeWith([work], { journal, leaseMs: LEASE_MS });
  const running = runtime.agent({ model: scriptedModel(script), task: "Do it." });
  running.catch(() => {});
  await begun.promise;
  const [execution = ""] = await Array.fromAsync(journal.list(), (one) =>
    one.kind === "conversation" ? one.execution : "",
  ).then((all) => all.filter(Boolean));
  // As another process would: it claims the conversation, and its lease is over at once.
  const { records } = await journal.find(execution);
  await journal.append(execution, records, [{ type: "claim", driver: "other", leaseMs: 0, at: Date.now() }]);
  await expect(running).rejects.toMatchObject({ code: "head_moved" });
  await aborted.promise;
  const open = await Array.fromAsync(journal.list({ open: true }), ({ kind }) => kind);
  expect(open.toSorted()).toEqual(["conversation", "program"]);
  const report = await goOn(journal, [work], script, execution);
  expect(report.answer).toContain("done");
  expect(await Array.fromAsync(journal.list({ open: true }))).toEqual([]);
});

test("an agent that is a tool goes on with its own conversation after its host has died", async () => {
  const { journal, appended } = recorded();
  let looks = 0;
  const count = makeTool({
    name: "count",
    allowedCallers: ["direct"],
    execute: () => {
      looks += 1;
      return looks;
    },
  });
  const write = makeTool({ name: "note", allowedCallers: ["direct"], effect: "write", execute: () => "noted" });
  let asked = 0;
  const inner = scriptedModel([
    () => {
      asked += 1;
      return { calls: [{ id: "c", tool: "count" }], usage: { inputTokens: 10 } };
    },
    ({ results }) => ({ text: `counted ${results[0]?.text ?? ""}`, usage: { outputTokens: 5 } }),
  ]);
  const desk = agentOf("desk", inner, { tools: [count, write], allowedCallers: ["direct"] });
  const script: readonly ScriptedStep[] = [{ calls: [{ id: "d", tool: "desk", input: { task: "Count." } }] }, FIRST];
  const expected = await begin(journal, [desk], script);
  expect(expected.answer).toBe('"counted 1"');
  const afterInnerResult = appended.findIndex(
    ([execution, record]) => execution !== expected.execution && record.type === "message" && record.from === "host",
  );
  const report = await goOn(await cutAfter(appended, afterInnerResult + 1), [desk], script, expected.execution);
  expect(report.answer).toBe('"counted 1"');
  expect(looks).toBe(1);
  expect(asked).toBe(1);
  expect(report.usage).toEqual(expected.usage);
  const whole = await goOn(await cutAfter(appended, appended.length - 1), [desk], script, expected.execution);
  expect(whole.usage).toEqual(expected.usage);
  expect(whole.calls.map(({ callId }) => callId).toSorted()).toEqual(["d", "d/c"]);
});

test("the opaque state of a provider is in the journal alone, and a broken one is a typed error", async () => {
  const { tool } = payTool();
  const journal = createMemoryJournal();
  const script: readonly ScriptedStep[] = [{ calls: [pay(1)] }, { text: "Done." }];
  const { execution } = await begin(journal, [tool], script);
  const records = await Array.fromAsync(journal.read(execution));
  for (const message of ["{", "null", "{}", '{"type":"turn"}', "[]", JSON.stringify({ type: "turn", calls: [null] })]) {
    const broken = await journalWith(
      records.map((record) => (record.type === "message" ? { ...record, message } : record)),
    );
    await expect(goOn(broken, [tool], script, execution)).rejects.toSatisfy(
      (error) => PortcullisError.is(error) && error.code === "journal_invalid",
    );
  }
});
