import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, defineTool, type Effect, PortcullisError, type Tool } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { type OpenOptions, QueueFull, type Sandbox } from "../../src/sandboxes/sandbox.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { finding } from "../journal/redaction/redact.ts";
import { recovered } from "./recovered.ts";
import { journalWith, leftOf, runtimeWith } from "../support/index.ts";

const sandbox = createMemorySandbox();
const LEASE_MS = 100;

/** A tool whose handler notes its idempotency keys. The first `hangs` calls never end. */
function makeTool(effect: Effect, options: { readonly hangs?: number; readonly onUnknown?: Tool["onUnknown"] } = {}) {
  const { hangs = 0, onUnknown = "ask" } = options;
  const keys: string[] = [];
  const begun = Promise.withResolvers<void>();
  const tool = defineTool({
    name: "work",
    description: "d",
    inputSchema: z.object({}),
    allowedCallers: ["programmatic"],
    effect,
    onUnknown,
    execute: (_, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      begun.resolve();
      return keys.length <= hangs ? new Promise<never>(() => {}) : "done";
    },
  });
  return { tool, keys, begun: begun.promise };
}

/** Starts a program whose call hangs, and gives the journal as it is then. */
async function dieInCall(
  made: ReturnType<typeof makeTool>,
  program = "return await tools.work({});",
): Promise<Journal> {
  const journal = createMemoryJournal();
  const runtime = await runtimeWith([made.tool], { journal });
  const running = runtime.execute(program, { id: "one" });
  await made.begun;
  const copy = await leftOf(journal, "one");
  await runtime[Symbol.asyncDispose]();
  await running;
  return copy;
}

describe("a call whose host died while its handler ran", () => {
  test.each([
    ["read", "ask", { type: "completed", value: "done" }, 2],
    ["idempotent", "ask", { type: "completed", value: "done" }, 2],
    ["write", "retry", { type: "completed", value: "done" }, 2],
    ["write", "fail", { type: "failed", fault: { code: "outcome_unknown" } }, 1],
  ] as const)("that is a %s with onUnknown %s goes on as %j", async (effect, onUnknown, outcome, runs) => {
    const made = makeTool(effect, { hangs: 1, onUnknown });
    const journal = await dieInCall(made);
    await using runtime = await runtimeWith([made.tool], { journal });
    const [report] = await recovered(runtime);
    expect(report?.outcome).toMatchObject(outcome);
    // Under the same key.
    expect([made.keys.length, new Set(made.keys).size]).toEqual([runs, 1]);
  });

  test("waits for a person if it is a write, and is then run again, or not, or was done", async () => {
    for (const [decision, value, runs] of [
      [{ allow: true }, "done", 2],
      [{ allow: false }, "outcome_unknown", 1],
      [{ done: { value: "by hand" } }, "by hand", 1],
    ] as const) {
      const made = makeTool("write", { hangs: 1 });
      const program = "try { return await tools.work({}); } catch (error) { return error.code; }";
      const journal = await dieInCall(made, program);
      await using runtime = await runtimeWith([made.tool], { journal });
      const [waits] = await recovered(runtime);
      expect(waits?.outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "1", why: "outcome_unknown" }] });
      expect(await Array.fromAsync(runtime.recover())).toEqual([]);
      const report = await runtime.execution("one").resume({ decisions: { "1": decision } });
      expect(report.outcome).toEqual({ type: "completed", value });
      expect(made.keys).toHaveLength(runs);
    }
  });
});

describe("two drivers", () => {
  test("a driver whose execution was taken over starts no further handler, and rejects with head_moved", async () => {
    const journal = createMemoryJournal();
    const made = makeTool("read", { hangs: 1 });
    const tools = [made.tool];
    await using first = await runtimeWith(tools, { journal, leaseMs: LEASE_MS });
    const running = first.execute("await tools.work({}); return await tools.work({});", { id: "one" });
    const rejected = expect(running).rejects.toMatchObject({ code: "head_moved" });
    await made.begun;
    // As if the first driver had been stopped past its lease: another one claims at the head.
    const { records } = await journal.find("one");
    await journal.append("one", records, [{ type: "claim", driver: "other", leaseMs: 60_000, at: Date.now() }]);
    await rejected;
    expect(made.keys).toHaveLength(1);
    expect((await Array.fromAsync(journal.read("one"))).at(-1)?.type).toBe("claim");
  });

  test("an execution that another process drives is not taken over before its lease has ended", async () => {
    const journal = createMemoryJournal();
    const made = makeTool("read", { hangs: 1 });
    const copy = await dieInCall(made);
    await copy.append("one", (await copy.find("one")).records, [
      { type: "claim", driver: "other", leaseMs: 60_000, at: Date.now() },
    ]);
    await using runtime = await runtimeWith([made.tool], { journal: copy });
    await expect(runtime.execution("one").resume()).rejects.toMatchObject({ code: "execution_driven" });
    expect(await Array.fromAsync(runtime.recover())).toEqual([]);
    expect(made.keys).toHaveLength(1);
    expect(await Array.fromAsync(journal.list())).toEqual([]);
  });

  test("an execution whose drivers died three times in a row while the program ran ends as crashed", async () => {
    const cut = await diedAfter(["program", "host", "program"], 3);
    await using runtime = await runtimeWith([], { journal: cut });
    const told: unknown[] = [];
    const onEvent = (event: unknown) => told.push(event);
    const { outcome } = await runtime.execution("one").resume({ onEvent });
    expect(outcome).toMatchObject({ type: "crashed", code: "engine_died" });
    expect((await runtime.execution("one").resume()).outcome).toMatchObject({ type: "crashed", code: "engine_died" });
    expect(told).toEqual([{ type: "execution_ended", at: expect.any(Number) as number, execution: "one", outcome }]);
  });

  test("what is shown of an execution that its drivers died of is redacted", async () => {
    const cut = await diedAfter(["program"], 3);
    await using runtime = await runtimeWith([], { journal: cut, redact: finding("hosts", ["model"]) });
    const { outcome } = await runtime.execution("one").resume();
    expect(outcome).toMatchObject({ type: "crashed", detail: expect.stringMatching(/^3 (?!hosts).* died/) as string });
  });

  test.each([
    ["twice only", ["program"], 2],
    ["any number of times before they had an engine", [], 9],
    ["any number of times while the program waited", ["program", "host"], 9],
  ] as const)("one whose drivers died %s goes on", async (_, hands, deaths) => {
    const cut = await diedAfter(hands, deaths);
    await using runtime = await runtimeWith([], { journal: cut });
    expect((await runtime.execution("one").resume()).outcome).toEqual({ type: "completed", value: 1 });
  });

  test("a driver that lost the execution while the program had the turn says that it is alive, and does not count", async () => {
    const journal = await diedAfter(["program"], 2);
    const begun = Promise.withResolvers<void>();
    const held: Journal = {
      ...journal,
      append: async (execution, expected, records, options) => {
        // As if this process had been stopped before it could journal the turn.
        if (records.some(({ type }) => type === "turn")) {
          begun.resolve();
          await taken.promise;
        }
        return journal.append(execution, expected, records, options);
      },
    };
    const taken = Promise.withResolvers<void>();
    await using slow = await runtimeWith([], { journal: held });
    const lost = expect(slow.execution("one").resume()).rejects.toMatchObject({ code: "head_moved" });
    await begun.promise;
    const { records } = await journal.find("one");
    await journal.append("one", records, [{ type: "claim", driver: "next", leaseMs: 0, at: 1 }]);
    taken.resolve();
    await lost;
    expect((await Array.fromAsync(journal.read("one"))).at(-1)).toMatchObject({ type: "alive" });
    await using runtime = await runtimeWith([], { journal });
    expect((await runtime.execution("one").resume()).outcome).toEqual({ type: "completed", value: 1 });
  });
});

/** An execution without a turn that this many drivers took up, gave the turn to these one after the other, and died. */
async function diedAfter(hands: readonly ("program" | "host")[], deaths: number): Promise<Journal> {
  const journal = createMemoryJournal();
  {
    await using runtime = await runtimeWith([], { journal });
    await runtime.execute("return 1;", { id: "one" });
  }
  const cut = await leftOf(journal, "one", 1);
  for (let death = 0; death < deaths; death += 1) {
    const claim = { type: "claim", driver: `d${death}`, leaseMs: 0, at: 1 } as const;
    const { records } = await cut.find("one");
    await cut.append("one", records, [claim, ...hands.map((to) => ({ type: "hand", to, at: 1 }) as const)]);
  }
  return cut;
}

describe("an execution that was taken up and gets no engine", () => {
  const failing = (open: Sandbox["open"]): Sandbox => ({ ...sandbox, open });
  test.each([
    [
      "the sandbox fails",
      () => Promise.reject(new PortcullisError("sandbox_unavailable", "No daemon answers.")),
      "sandbox_unavailable",
    ],
    ["too many programs wait", () => Promise.reject(new QueueFull(3)), "queue_full"],
    [
      "none is free in time",
      (_: OpenOptions, signal: AbortSignal) =>
        new Promise<never>((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("No longer needed.")));
        }),
      "queue_full",
    ],
  ] as const)("stays as it is where %s, before its first turn and after it", async (_, openGuest, code) => {
    for (const records of [1, 2]) {
      const journal = createMemoryJournal();
      {
        await using runtime = await runtimeWith([], { journal, limits: { queueMs: 10 } });
        await runtime.execute("await new Promise((resolve) => setTimeout(resolve, 1)); return 1;", {
          id: "one",
        });
      }
      const cut = await leftOf(journal, "one", records);
      await using busy = await createRuntime({ tools: [], journal: cut, sandbox: failing(openGuest) });
      for (let attempt = 0; attempt < 4; attempt += 1)
        await expect(busy.execution("one").resume()).rejects.toMatchObject({ code });
      expect(await cut.find("one")).toMatchObject({ ended: false, lease: { until: 0 } });
      await using runtime = await runtimeWith([], { journal: cut });
      expect((await runtime.execution("one").resume()).outcome).toEqual({ type: "completed", value: 1 });
    }
  });
});

test("a program that does something else in its replay ends as replay_diverged, with the turn and both commands", async () => {
  const made = makeTool("read");
  const first = createMemoryJournal();
  {
    await using runtime = await runtimeWith([made.tool], { journal: first });
    await runtime.execute("const one = await tools.work({}); return one + (await tools.work({}));", { id: "one" });
  }
  made.keys.length = 0;
  const records = await Array.fromAsync(first.read("one"));
  const kept = records.slice(
    0,
    records.findLastIndex(({ type }) => type === "turn"),
  );
  const journal = await journalWith(
    kept.map((record) =>
      record.type === "turn"
        ? { ...record, commands: record.commands.map((text) => text.replace('"tool":"work"', '"tool":"wirk"')) }
        : record,
    ),
  );
  await using runtime = await runtimeWith([made.tool], { journal });
  const report = await runtime.execution("one").resume();
  expect(report.outcome).toMatchObject({
    type: "crashed",
    code: "replay_diverged",
    detail: expect.stringMatching(
      /^The replay differs from the journal at turn 0: the program did \{.*"work".*, the journal has \{.*"wirk".*\.$/s,
    ),
  });
  expect(made.keys).toEqual([]);
  expect((await runtime.execution("one").resume()).outcome).toEqual(report.outcome);
});

test("the usage of a journal from elsewhere changes no other fact of a report", async () => {
  const journal = createMemoryJournal();
  {
    await using runtime = await runtimeWith([], { journal });
    await runtime.execute("console.log('hi'); return 1;", { id: "one" });
  }
  const records = await Array.fromAsync(journal.read("one"));
  const forged = await leftOf(journal, "one", records.length - 1);
  const usage = { ending: 1, logs: 2, turns: 99, calls: 3, cpuMs: 4 };
  const outcome = { type: "outcome", outcome: '{"type":"completed"}', usage, at: 5 } as const;
  await forged.append("one", records.length - 1, [outcome]);
  await using runtime = await runtimeWith([], { journal: forged });
  const report = await runtime.execution("one").resume();
  expect(report).toMatchObject({ outcome: { type: "completed", value: 1 }, logs: { text: "hi\n" }, calls: [] });
  expect(report.usage).toMatchObject({ turns: 1, cpuMs: 4 });
});
