import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  type Approve,
  type CallContext,
  content,
  defineTool,
  type Effect,
  PortcullisError,
  type RedactRequest,
  type Report,
  type Runtime,
  type RuntimeOptions,
} from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { parseRecord } from "../../src/journal/reading/parse-records.ts";
import { viewExecution } from "../../src/serve/views/view-execution.ts";
import { settableClock } from "../support/clock.ts";
import { journalWith, notedReads, runtimeWith, throws } from "../support/index.ts";

/** Every record that was written can be read: a journal in memory keeps also what no reader would take. */
const journals = new Set<Journal>();
afterEach(async () => {
  for (const journal of journals)
    for await (const { execution } of journal.list({}))
      for await (const record of journal.read(execution)) parseRecord(JSON.parse(JSON.stringify(record)), 0);
  journals.clear();
});

const input = z.object({ n: z.number() });
const common = { description: "d", inputSchema: input, allowedCallers: ["programmatic"] } as const;
const later: Approve = () => "later";

type Options = Omit<Partial<Parameters<typeof defineTool>[0]>, "execute">;
type Handler = (given: { n: number }, context: CallContext) => unknown;

/** A runtime with one tool, `t`, and what its handler was given. */
async function open(own: Options & { readonly execute?: Handler } = {}, more: Partial<RuntimeOptions> = {}) {
  const runs: number[] = [];
  const { execute: handler = ({ n }) => n * 10, ...options } = own;
  const tool = defineTool({
    ...common,
    name: "t",
    effect: "read",
    ...(options as object),
    execute: (given: { n: number }, context: CallContext) => {
      runs.push(given.n);
      return handler(given, context);
    },
  });
  const journal = more.journal ?? createMemoryJournal();
  journals.add(journal);
  const runtime = await runtimeWith([tool], { journal, logger: { error: () => {} }, ...more });
  return { runtime, runs, journal };
}

const FAILS = "throw new Error('the last line is wrong');";
const ONE = "await tools.t({ n: 1 });";
const TWO = `${ONE} await tools.t({ n: 2 });`;

/** Runs programs, each of which corrects the one before. */
async function chain(runtime: Runtime, sources: readonly string[], first?: string): Promise<Report[]> {
  const reports: Report[] = [];
  for (const source of sources)
    reports.push(await runtime.execute(source, { corrects: reports.at(-1)?.execution ?? first }));
  return reports;
}

test("calls of a corrected program are answered as before: no handler runs, and report, events and view say so", async () => {
  const events: unknown[] = [];
  const { runtime, runs, journal } = await open();
  const first = await runtime.execute(`${TWO} ${FAILS}`);
  const { execution: after } = first;
  const source = "return [await tools.t({ n: 2 }), await tools.t({ n: 1 }), await tools.t({ n: 3 })];";
  const second = await runtime.execute(source, { corrects: after, onEvent: (event) => events.push(event) });
  expect(second.outcome).toEqual({ type: "completed", value: [20, 10, 30] });
  expect(runs).toEqual([1, 2, 3]);
  expect(second.usage).toMatchObject({ calls: 3, reused: 2 });
  const from = [
    { execution: after, callId: "2" },
    { execution: after, callId: "1" },
  ];
  expect(second.calls.map((call) => [call.from, call.started])).toEqual([
    [from[0], false],
    [from[1], false],
    [undefined, true],
  ]);
  expect(second.output.text).toBe(
    "[20,10,30]\n\n2 of its 3 calls were answered from before: an earlier program had made the same, and nothing was done again.",
  );
  expect(first.usage.reused).toBeUndefined();
  expect(events).toMatchObject([
    { type: "execution_started", corrects: after },
    { type: "call_ended", callId: "1", started: false, from: from[0] },
    { type: "call_ended", callId: "2", started: false, from: from[1] },
    { type: "call_started", callId: "3" },
    { type: "call_ended", callId: "3", started: true },
    { type: "execution_ended" },
  ]);
  expect(await viewExecution(journal, second.execution)).toMatchObject({
    corrects: after,
    calls: [{ id: "1", state: "value", detail: "number, from before", from: from[0] }, {}, {}],
  });
  expect(await runtime.execution(second.execution).status()).toMatchObject({
    report: { calls: second.calls, usage: { reused: 2 } },
  });
});

test("each recorded call serves once, and a chain of corrections sees all of it", async () => {
  const { runtime, runs } = await open({ effect: "write" });
  const [a, b, c] = (await chain(runtime, [
    `${TWO} ${FAILS}`,
    `await tools.t({ n: 2 }); await tools.t({ n: 3 }); ${FAILS}`,
    "const out = []; for (const n of [1, 2, 3, 3]) out.push(await tools.t({ n })); return out;",
  ])) as [Report, Report, Report];
  expect(c.outcome).toMatchObject({ value: [10, 20, 30, 30] });
  expect(runs).toEqual([1, 2, 3, 3]);
  expect(c.calls.map(({ from }) => from)).toEqual([
    { execution: a.execution, callId: "1" },
    { execution: a.execution, callId: "2" },
    { execution: b.execution, callId: "2" },
    undefined,
  ]);
  // What was given again counts as done, for the next program to read.
  expect(b.output.text).toContain("t (2 times)");
});

test("a program reads the one that it corrects and none before, and makes no change again that any of them has made", async () => {
  const { journal, readNow } = notedReads();
  const { runtime, runs } = await open({ effect: "write" }, { journal });
  // The second fails before it comes to the second change, and the third before the first.
  const c = (await chain(runtime, [`${TWO} ${FAILS}`, `${ONE} ${FAILS}`, FAILS])).at(-1)!;
  readNow();
  const source = "return [await tools.t({ n: 2 }), await tools.t({ n: 1 }), await tools.t({ n: 2 })];";
  const d = await runtime.execute(source, { corrects: c.execution });
  expect(d.outcome).toEqual({ type: "completed", value: [20, 10, 20] });
  expect(runs).toEqual([1, 2, 2]);
  expect(d.calls.map(({ from }) => from?.callId)).toEqual(["2", "1", undefined]);
  expect(readNow().filter((id) => id !== d.execution)).toEqual([c.execution]);
});

test("a write of unknown outcome that the program between did not come to still waits for a decision", async () => {
  const { runtime, runs } = await open(
    { effect: "write", timeoutMs: 20, execute: () => new Promise(() => {}) },
    { approve: later },
  );
  const c = (await chain(runtime, ["return tools.t({ n: 1 });", FAILS, "return tools.t({ n: 1 });"])).at(-1)!;
  expect(c.outcome).toMatchObject({ type: "waiting", approvals: [{ why: "outcome_unknown" }] });
  const d = await runtime.execution(c.execution).resume({ decisions: { 1: { done: { value: 5 } } } });
  expect([d.outcome, runs]).toEqual([{ type: "completed", value: 5 }, [1]]);
});

test("an approval holds through all corrections, for what was done as well", async () => {
  const approve = vi.fn<Approve>(() => ({ allow: true, by: "ann" }));
  const { runtime, runs, journal } = await open({ effect: "write", approval: "always" }, { approve });
  const sources = [`${ONE} ${FAILS}`, `${ONE} ${FAILS}`, FAILS, `${ONE} return 1;`];
  const [first, , , last] = await chain(runtime, sources);
  expect([approve.mock.calls.length, runs]).toEqual([1, [1]]);
  const records = await Array.fromAsync(journal.read(last?.execution ?? ""));
  expect(records.filter(({ type }) => type === "decision")).toMatchObject([
    { allow: true, by: "ann", remembered: `${first?.execution}/1` },
  ]);
});

test("an answer that is given again stays as old as it is", async () => {
  const { runtime, journal } = await open();
  const reports = await chain(runtime, [`${ONE} ${FAILS}`, `${ONE} ${FAILS}`, `${ONE} return 1;`]);
  const [first, , last] = await Promise.all(reports.map(({ execution }) => Array.fromAsync(journal.read(execution))));
  const at = first?.find(({ type }) => type === "answered");
  expect(last?.filter((record) => record.type === "call")).toMatchObject([
    { decision: "reused", answeredAt: at?.type === "answered" && at.at },
  ]);
});

test("a program begins also after more changes than it may make calls, and makes none of them again", async () => {
  const { runtime, runs } = await open({ effect: "write" }, { limits: { calls: 2 } });
  const other = "await tools.t({ n: 3 }); await tools.t({ n: 4 });";
  const c = (await chain(runtime, [`${TWO} ${FAILS}`, `${other} ${FAILS}`, `${other} return 1;`])).at(-1)!;
  expect([c.outcome, c.usage.reused, runs]).toEqual([{ type: "completed", value: 1 }, 2, [1, 2, 3, 4]]);
});

describe("a program that ended before it had taken over what was done does not hide it from the next one:", () => {
  const kept = `await save("kept", 5); ${TWO} ${FAILS}`;
  const fixed = `${TWO} return load("kept");`;

  test("there was no room", async () => {
    const { runtime, runs, journal } = await open({ effect: "write" });
    const many = "for (let n = 3; n <= 1500; n += 1) await tools.t({ n });";
    const { execution: first } = await runtime.execute(`${many} ${kept}`);
    const { runtime: small } = await open({ effect: "write" }, { journal, heldBytes: 2 ** 20 });
    const stopped = await small.execute(fixed, { corrects: first });
    expect(stopped.outcome).toMatchObject({ type: "stopped", limit: "heldBytes" });
    const again = await small.execute(fixed, { corrects: stopped.execution });
    const last = await runtime.execute(fixed, { corrects: again.execution });
    expect([last.outcome, runs.length]).toEqual([{ type: "completed", value: 5 }, 1500]);
    expect(last.calls.slice(0, 2).map(({ from }) => from?.execution)).toEqual([first, first]);
  });

  test("the journal failed", async () => {
    const store = createMemoryJournal();
    let fails = false;
    const read: Journal["read"] = (execution, options) => {
      // The header is read alone, before the program is in the journal.
      if (fails && options?.count === undefined) throw new Error("unreachable");
      return store.read(execution, options);
    };
    const { runtime, runs } = await open({ effect: "write" }, { journal: { ...store, read } });
    const { execution: after } = await runtime.execute(kept);
    fails = true;
    await expect(runtime.execute(fixed, { corrects: after, id: "crashed" })).rejects.toThrow("unreachable");
    fails = false;
    const last = await runtime.execute(fixed, { corrects: "crashed" });
    expect([last.outcome, runs]).toEqual([{ type: "completed", value: 5 }, [1, 2]]);
  });
});

test("what is known of calls before counts in heldBytes until the program has ended", async () => {
  const asked = Promise.withResolvers<void>();
  const decided = Promise.withResolvers<boolean>();
  const approve: Approve = () => {
    asked.resolve();
    return decided.promise;
  };
  const { runtime } = await open({ approval: ({ n }: { n: number }) => n < 0 } as never, {
    approve,
    heldBytes: 2 ** 20,
  });
  const many = "await Promise.all(Array.from({ length: 125 }, () => tools.t({ n: 1 })));";
  const { execution: after } = await runtime.execute(`${many} ${many} ${many} ${many} ${FAILS}`);
  const holding = runtime.execute("return tools.t({ n: -1 });", { corrects: after });
  await asked.promise;
  expect((await runtime.execute("return 1;", { corrects: after })).outcome).toMatchObject({
    type: "stopped",
    limit: "heldBytes",
  });
  expect((await runtime.execute("return 1;")).outcome.type).toBe("completed");
  decided.resolve(true);
  expect((await holding).outcome.type).toBe("completed");
  expect((await runtime.execute("return 1;", { corrects: after })).outcome.type).toBe("completed");
});

test("what was read is read again once it is older than maxAgeMs, what was done is never done again", async () => {
  const { jump } = settableClock();
  for (const [effect, expected] of Object.entries({ read: 2, idempotent: 1, write: 1 } as const)) {
    const { runtime, runs } = await open({ effect: effect as Effect });
    const { execution: after } = await runtime.execute(`${ONE} ${FAILS}`);
    jump(3);
    const { outcome } = await runtime.execute("return tools.t({ n: 1 });", { corrects: after, maxAgeMs: 1 });
    expect([effect, outcome, runs.length]).toEqual([effect, { type: "completed", value: 10 }, expected]);
  }
});

test("the order of fields and the form of numbers make no other call, and another definition does", async () => {
  const { runtime, runs, journal } = await open({ inputSchema: z.object({ n: z.number(), m: z.number() }) });
  const { execution: after } = await runtime.execute(`await tools.t({ n: 1, m: 2 }); ${FAILS}`);
  await runtime.execute("return tools.t({ m: 2.0, n: 1e0 });", { corrects: after });
  expect(runs).toEqual([1]);
  const changed = await open(
    { inputSchema: z.object({ n: z.number(), m: z.number(), o: z.number().optional() }) },
    { journal },
  );
  await changed.runtime.execute("return tools.t({ n: 1, m: 2 });", { corrects: after });
  expect(changed.runs).toEqual([1]);
});

test("streams are taken over if they had ended", async () => {
  const { runtime, runs } = await open({
    stream: true,
    outputSchema: z.object({ i: z.number() }),
    execute: ({ n }: { n: number }) => Array.from({ length: n }, (_, i) => ({ i })),
  });
  const all = "(await Array.fromAsync(tools.t({ n: 1200 }))).reduce((sum, { i }) => sum + i, 0)";
  const some = "for await (const { i } of tools.t({ n: 40 })) if (i === 20) break;";
  const a = await runtime.execute(`const sum = ${all}; ${some} ${FAILS}`);
  expect(runs).toEqual([1200, 40]);
  const b = await runtime.execute(`const sum = ${all}; ${some} return sum;`, { corrects: a.execution });
  expect(b.outcome).toEqual({ type: "completed", value: 600 * 1199 });
  expect(runs).toEqual([1200, 40, 40]);
  expect(b.calls[0]).toMatchObject({ items: 1200, from: { callId: "1" }, bytes: a.calls[0]?.bytes });
  expect(b.usage.reused).toBe(1);
});

test("a write whose outcome is unknown waits, and goes on as a person decides", async () => {
  const begun = Promise.withResolvers<void>();
  const { runtime, runs } = await open(
    {
      effect: "write",
      execute: ({ n }) => {
        if (n !== 1 || runs.length > 1) return n;
        begun.resolve();
        return new Promise(() => {});
      },
    },
    { approve: later },
  );
  const a = await runtime.execute(`void tools.t({ n: 1 }); await new Promise((r) => setTimeout(r, 1)); ${FAILS}`);
  await begun.promise;
  const program = "return tools.t({ n: 1 });";
  const waiting = async () => {
    const { outcome, execution, output } = await runtime.execute(program, { corrects: a.execution });
    expect(outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "1", tool: "t", why: "outcome_unknown" }] });
    expect(output.text).toContain("a decision about t (call 1), which may have taken effect already");
    return execution;
  };
  const done = await runtime.execution(await waiting()).resume({ decisions: { 1: { done: { value: 7 } } } });
  expect(done.outcome).toEqual({ type: "completed", value: 7 });
  const denied = await runtime.execution(await waiting()).resume({ decisions: { 1: { allow: false } } });
  expect(denied.outcome).toMatchObject({
    fault: { code: "outcome_unknown", message: expect.stringContaining("An earlier run made the same call of t") },
  });
  expect(runs).toEqual([1]);
  const again = await runtime.execution(await waiting()).resume({ decisions: { 1: { allow: true } } });
  expect(again.outcome).toEqual({ type: "completed", value: 1 });
  expect(runs).toEqual([1, 1]);
  // What was said to be done, and what was done again, stands for the call from then on.
  for (const { execution } of [done, again])
    expect((await runtime.execute(program, { corrects: execution })).usage.reused).toBe(1);
});

test.each([
  ["done", { done: { value: 7 } }],
  ["done again", { allow: true }],
  ["neither", { allow: false }],
] as const)(
  "what was read before a write of unknown outcome that is decided as %s is read again",
  async (_, decision) => {
    const begun = Promise.withResolvers<void>();
    const reads: number[] = [];
    let writes = 0;
    const read = defineTool({
      ...common,
      name: "read",
      effect: "read",
      execute: ({ n }: { n: number }) => reads.push(n),
    });
    const write = defineTool({
      ...common,
      name: "write",
      effect: "write",
      execute: () => {
        writes += 1;
        if (writes > 1) return writes;
        begun.resolve();
        return new Promise(() => {});
      },
    });
    const journal = createMemoryJournal();
    const tools = [read, write];
    const logger = { error: () => {} };
    await using runtime = await runtimeWith(tools, { journal, logger, approve: later });
    const a = await runtime.execute(
      `await tools.read({ n: 1 }); void tools.write({ n: 1 }); await new Promise((r) => setTimeout(r, 1)); ${FAILS}`,
    );
    await begun.promise;
    const source = `await tools.write({ n: 1 }).catch(() => {}); return tools.read({ n: 1 });`;
    const b = await runtime.execute(source, { corrects: a.execution });
    expect(b.outcome.type).toBe("waiting");
    // Another process takes it up, which knows of the decision and of the call that stands for it from the journal alone.
    await using other = await runtimeWith(tools, { journal, logger, approve: later });
    const ended = await other.execution(b.execution).resume({ decisions: { 1: decision } });
    expect(ended.outcome).toEqual({ type: "completed", value: 2 });
    expect(reads).toEqual([1, 1]);
  },
);

test.each([
  ["fail", "failed"],
  // The idempotency key of the call that may have taken effect is not this call's.
  ["retry", "waiting"],
] as const)("with onUnknown %s a write whose outcome is unknown ends as %s", async (onUnknown, type) => {
  const { runtime, runs } = await open({
    effect: "write",
    onUnknown,
    timeoutMs: 20,
    execute: () => (runs.length > 1 ? 1 : new Promise(() => {})),
  });
  const reports = await chain(runtime, ["return tools.t({ n: 1 });", "return tools.t({ n: 1 });"]);
  expect(reports).toMatchObject([{ outcome: { fault: { code: "handler_timed_out" } } }, { outcome: { type } }]);
  expect(runs).toEqual([1]);
});

test("a write whose result was refused is not made again by itself, and one that failed by itself is", async () => {
  const { runtime, runs } = await open(
    {
      effect: "write",
      outputSchema: z.unknown(),
      execute: ({ n }: { n: number }) => {
        if (n === 1) return "too long a text";
        if (n === 3) return () => "done";
        throw new PortcullisError("tool_failed", "The account is closed.");
      },
    } as never,
    { approve: later, limits: { resultBytes: 10 } },
  );
  const ends = async (n: number) =>
    (await chain(runtime, [`return tools.t({ n: ${n} });`, `return tools.t({ n: ${n} });`])).at(-1)!.outcome.type;
  expect([await ends(1), await ends(3), await ends(2)]).toEqual(["waiting", "waiting", "failed"]);
  expect(runs).toEqual([1, 3, 2, 2]);
});

test("refused and dropped calls are made as if they had never been", async () => {
  const { runtime, runs } = await open({ effect: "write", approval: "always" }, { approve: () => false });
  const denied = await runtime.execute("return tools.t({ n: 1 });");
  expect(denied.outcome).toMatchObject({ fault: { code: "approval_denied" } });
  const asked: unknown[] = [];
  const approve: Approve = ({ input: given }) => {
    asked.push(given);
    return true;
  };
  const b = await runtime.execute("return tools.t({ n: 1 });", { corrects: denied.execution, approve });
  expect([b.outcome, asked, runs]).toEqual([{ type: "completed", value: 10 }, [{ n: 1 }], [1]]);
});

test("an approval counts for the call that was made with it: one that is made anew is asked about anew", async () => {
  const asked: unknown[] = [];
  let fails = true;
  const { runtime, runs } = await open(
    {
      effect: "write",
      approval: "always",
      execute: ({ n }) => {
        if (fails && n === 2) throw new Error("out of order");
        return n;
      },
    },
    {
      approve: ({ input: given }) => {
        asked.push((given as { n: number }).n);
        return { allow: true, by: "ann" };
      },
    },
  );
  const a = await runtime.execute(TWO);
  expect([a.outcome.type, asked, runs]).toEqual(["failed", [1, 2], [1, 2]]);
  fails = false;
  const source = "return [await tools.t({ n: 1 }), await tools.t({ n: 2 }), await tools.t({ n: 3 })];";
  const b = await runtime.execute(source, { corrects: a.execution });
  expect([b.outcome, asked, runs]).toEqual([{ type: "completed", value: [1, 2, 3] }, [1, 2, 2, 3], [1, 2, 2, 3]]);
});

test("an approval of a call that was never begun counts for no call of the programs after it", async () => {
  const begun = Promise.withResolvers<void>();
  const { runtime, runs } = await open(
    {
      effect: "write",
      approval: "always",
      concurrency: 1,
      execute: ({ n }) => n === 1 && (begun.resolve(), untilEnded),
    },
    { approve: later },
  );
  const cancelling = new AbortController();
  const untilEnded = new Promise((resolve) => cancelling.signal.addEventListener("abort", resolve));
  const both = "await Promise.all([tools.t({ n: 1 }), tools.t({ n: 2 })]);";
  const a = await runtime.execute(both, { id: "a" });
  expect(a.outcome.type).toBe("waiting");
  const running = runtime.execution("a").resume({
    decisions: { 1: { allow: true }, 2: { allow: true } },
    signal: cancelling.signal,
  });
  await begun.promise;
  cancelling.abort();
  expect((await running).outcome.type).toBe("cancelled");
  const after = await runtime.execute("return tools.t({ n: 2 });", { corrects: "a" });
  expect([after.outcome, runs]).toMatchObject([{ type: "waiting", approvals: [{ why: "approval" }] }, [1]]);
});

test.each(["read", "write"] as const)(
  "a %s is not answered as a call whose number the same double stands for",
  async (effect) => {
    const { runtime, runs } = await open({ effect });
    const a = await runtime.execute(`await tools.t({ n: 9007199254740992 }); ${FAILS}`);
    const other = `return tools.t({ n: JSON.rawJSON("9007199254740993") }).catch(({ code }) => code);`;
    const b = await runtime.execute(other, { corrects: a.execution });
    expect(b.outcome).toEqual({ type: "completed", value: "input_invalid" });
    expect([b.usage.reused, runs.length]).toEqual([undefined, 1]);
  },
);

test("a call that needs approval now, and needed none, is not answered as before", async () => {
  for (const [effect, why] of [
    ["read", "approval"],
    ["write", "outcome_unknown"],
  ] as const) {
    const journal = createMemoryJournal();
    const before = await open({ effect }, { journal });
    const { execution: after } = await before.runtime.execute(`${ONE} ${FAILS}`);
    const strict = await open({ effect }, { journal, approve: later, policy: "ask-all" });
    const { outcome } = await strict.runtime.execute("return tools.t({ n: 1 });", { corrects: after });
    expect(outcome).toMatchObject({ type: "waiting", approvals: [{ why }] });
    const denying = await open({ effect }, { journal, policy: () => ({ deny: "not today" }) });
    const refused = await denying.runtime.execute("return tools.t({ n: 1 });", { corrects: after });
    expect(refused.outcome).toMatchObject({ type: "failed", fault: { code: "policy_denied" } });
    expect([...strict.runs, ...denying.runs]).toEqual([]);
  }
});

test("a call that was approved is not answered as before while the policy fails", async () => {
  for (const effect of ["read", "write"] as const) {
    const journal = createMemoryJournal();
    const asking = await open({ effect }, { journal, approve: () => true, policy: "ask-all" });
    const { execution: after } = await asking.runtime.execute(`${ONE} ${FAILS}`);
    const down = throws("down");
    const failing = await open({ effect }, { journal, policy: down, logger: { error: () => {} } });
    const { outcome } = await failing.runtime.execute("return tools.t({ n: 1 });", { corrects: after });
    expect(outcome).toMatchObject({ type: "failed", fault: { code: "policy_unavailable" } });
    expect([asking.runs.length, failing.runs.length]).toEqual([1, 0]);
  }
});

test("an answer that is given again spends no rate and no place of its tool", async () => {
  const { runtime, runs } = await open({ rate: { calls: 2, perMs: 3_600_000 }, concurrency: 1 });
  const a = await runtime.execute(`${ONE} ${FAILS}`);
  for (let time = 0; time < 5; time += 1) await runtime.execute("return tools.t({ n: 1 });", { corrects: a.execution });
  expect((await runtime.execute("return tools.t({ n: 2 });", { corrects: a.execution })).outcome).toMatchObject({
    value: 20,
  });
  expect(runs).toEqual([1, 2]);
});

test("what a handler said to people, and what a program did not get, is told again", async () => {
  const image = { type: "image", mediaType: "image/png", data: Buffer.from("png").toString("base64") } as const;
  const { runtime } = await open({ execute: () => content({ value: 1, display: { chart: 3 }, parts: [image] }) });
  const [, b] = await chain(runtime, [`${ONE} ${FAILS}`, ONE]);
  expect(b?.calls).toMatchObject([{ display: { chart: 3 }, partsLeftOut: 1, from: { callId: "1" } }]);
});

test("values that the failed program kept are there to be loaded, also after two corrections and a restart", async () => {
  const { runtime, journal } = await open();
  const [, , c] = (await chain(runtime, [
    `await save("rows", [1, 2, 3]); await save("other", 1); ${FAILS}`,
    `await save("other", 2); ${FAILS}`,
    'return [await load("rows"), await load("other")];',
  ])) as [Report, Report, Report];
  expect(c.outcome).toEqual({ type: "completed", value: [[1, 2, 3], 2] });
  expect(c.artifacts.map(({ name }) => name)).toEqual(["rows", "other"]);
  const other = await open({}, { journal });
  const status = await other.runtime.execution(c.execution).status();
  expect(await status.report?.artifacts[0]?.read()).toEqual([1, 2, 3]);
});

/** What becomes of executions by other ways than an ending. */
test.each([
  ["an unknown id", { corrects: "nothing" }, "execution_unknown"],
  ["another tenant's", { tenant: "b" }, "execution_unknown"],
  ["one that waits", { corrects: "waits" }, "execution_open"],
  ["a call of the host", { corrects: "call" }, "option_invalid"],
  ["an age without it", { corrects: undefined, maxAgeMs: 1 }, "option_invalid"],
  ["an age that is none", { maxAgeMs: -1 }, "option_invalid"],
  ["an id that is none", { corrects: "" }, "option_invalid"],
])("%s is refused, and nothing runs", async (_, options, code) => {
  const { runtime, runs, journal } = await open({ approval: "always", effect: "write" }, { approve: later });
  await runtime.execute("return 1;", { id: "ended" });
  await runtime.execute("return tools.t({ n: 1 });", { id: "waits" });
  await runtime.call({ tool: "t", input: { n: "x" }, caller: "programmatic" });
  const calls = await Array.fromAsync(journal.list());
  const call = calls.find(({ kind }) => kind === "call")?.execution ?? "";
  const given = { corrects: "ended", ...options };
  const asked = { ...given, ...(given.corrects === "call" ? { corrects: call } : {}) } as { readonly corrects: string };
  const known = (await Array.fromAsync(journal.list())).length;
  await expect(runtime.execute("return tools.t({ n: 2 });", asked)).rejects.toMatchObject({ code });
  expect((await Array.fromAsync(journal.list())).length).toBe(known);
  expect(runs).toEqual([]);
});

test("a program of another language is refused", async () => {
  const { runtime, journal } = await open();
  const a = await runtime.execute("return 1;");
  const [header, ...others] = await Array.fromAsync(journal.read(a.execution));
  await journalWith([{ ...header, execution: "python", language: "python" } as never, ...others], journal);
  await expect(runtime.execute("return 1;", { corrects: "python" })).rejects.toMatchObject({
    code: "option_invalid",
    message: 'execute({ corrects }): expected an execution of a program in "javascript", got one in "python".',
  });
});

test("the same id again gives the same corrected program, and with another `after` it is refused", async () => {
  const { runtime, runs } = await open();
  const a = await runtime.execute(`${ONE} ${FAILS}`);
  const b = await runtime.execute(FAILS);
  const options = { corrects: a.execution, id: "fixed" };
  for (let time = 0; time < 2; time += 1)
    expect((await runtime.execute("return tools.t({ n: 1 });", options)).usage.reused).toBe(1);
  for (const after of [{}, { corrects: b.execution }])
    await expect(runtime.execute("return tools.t({ n: 1 });", { id: "fixed", ...after })).rejects.toMatchObject({
      code: "execution_exists",
    });
  expect(runs).toEqual([1]);
});

const hides =
  (pattern: RegExp) =>
  ({ text, to }: RedactRequest) =>
    to === "journal"
      ? Array.from(text.matchAll(pattern), ({ index, 0: found }) => ({
          start: index,
          end: index + found.length,
          what: "secret",
        }))
      : [];

test("with redact, what was taken out of the journal is not given again, and a write whose input or result it was is not made again by itself", async () => {
  const journal = createMemoryJournal();
  const options = { journal, redact: hides(/secret-\d/g) };
  const tool = (effect: "read" | "write") => ({
    effect,
    onUnknown: "fail",
    inputSchema: z.object({ word: z.string() }),
    execute: ({ word }: { readonly word: string }) => (word === "plain" ? "secret-2" : word),
  });
  for (const effect of ["read", "write"] as const) {
    const { runtime, runs } = await open(tool(effect) as never, options);
    for (const word of ["secret-1", "plain"]) {
      const a = await runtime.execute(`await tools.t({ word: "${word}" }); ${FAILS}`);
      const b = await runtime.execute(`return tools.t({ word: "${word}" });`, { corrects: a.execution });
      const c = await runtime.execute('return tools.t({ word: "other" });', { corrects: a.execution });
      expect(b.outcome).toMatchObject(
        effect === "read" ? { type: "completed" } : { type: "failed", fault: { code: "outcome_unknown" } },
      );
      expect([b.usage.reused, c.outcome.type]).toEqual([undefined, "completed"]);
    }
    expect(runs).toHaveLength(effect === "read" ? 6 : 4);
  }
});

test("a call whose input the journal has in part, like an earlier one's, is ruled on by its own input, before and after a person's yes", async () => {
  const asked: unknown[] = [];
  const { runtime, runs } = await open(
    {
      effect: "write",
      timeoutMs: 1,
      inputSchema: z.object({ n: z.number(), to: z.string() }),
      execute: () => (runs.length === 1 ? new Promise(() => {}) : 7),
      approval: ({ to }: { readonly to: string }) => to === "acc-3",
    } as never,
    {
      redact: hides(/acc-\d/g),
      policy: ({ input }) => ((input as { to: string }).to === "acc-9" ? { deny: "never" } : "allow"),
      approve: ({ input }) => asked.push(input) > 0,
    },
  );
  const pay = (to: string) => `return tools.t({ n: 1, to: "${to}" });`;
  const { execution: after } = await runtime.execute(pay("acc-1"));
  const denied = await runtime.execute(pay("acc-9"), { corrects: after });
  expect(denied.outcome).toMatchObject({ type: "failed", fault: { code: "policy_denied" } });
  const ended = await runtime.execute(pay("acc-3"), {
    corrects: after,
    id: "asks",
    onEvent: (event) => {
      if (event.type === "execution_waiting") void runtime.execution("asks").decide({ 1: { allow: true } });
    },
  });
  expect(ended.outcome).toMatchObject({ type: "completed", value: 7 });
  expect(asked).toEqual([{ n: 1, to: "acc-3" }]);
  expect(runs).toEqual([1, 1]);
});

test("a program that died after it was given answers is given no other ones", async () => {
  const asks = { effect: "write", approval: ({ n }: { n: number }) => n === 9 } as never;
  const { runtime, runs, journal } = await open(asks, { approve: later });
  const a = await runtime.execute(`await tools.t({ n: 1 }); await tools.t({ n: 1 }); ${FAILS}`);
  const program =
    "return [await tools.t({ n: 1 }), await tools.t({ n: 9 }), await tools.t({ n: 1 }), await tools.t({ n: 1 })];";
  const waiting = await runtime.execute(program, { corrects: a.execution });
  expect(waiting.outcome.type).toBe("waiting");
  const other = await open(asks, { journal });
  const ended = await other.runtime.execution(waiting.execution).resume({ decisions: { 2: { allow: true } } });
  expect(ended.outcome).toEqual({ type: "completed", value: [10, 90, 10, 10] });
  expect(ended.calls.map(({ from }) => from?.callId)).toEqual(["1", undefined, "2", undefined]);
  expect({ runs, others: other.runs }).toEqual({ runs: [1, 1], others: [9, 1] });
});
