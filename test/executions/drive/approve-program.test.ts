import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Approve, type RuntimeOptions } from "../../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../../src/journal/index.ts";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { settableClock } from "../../support/clock.ts";
import { failing, leftOf, makeTool, runtimeWith } from "../../support/index.ts";

const done: number[] = [];
const work = makeTool({
  name: "work",
  inputSchema: z.object({ n: z.number() }),
  effect: "write",
  execute: ({ n }) => done.push(n),
});
const PROGRAM = `console.log("hello"); return await tools.work({ n: 1 });`;
const HELD = { callId: "program", tool: "run_program", input: { source: PROGRAM, language: "javascript" } };

function open(journal: Journal, options: Partial<RuntimeOptions> = {}) {
  done.length = 0;
  return runtimeWith([work], { journal, approvePrograms: true, ...options });
}

/** The journal of a program that was held for this approver. */
async function heldFor(approve: Approve): Promise<Journal> {
  const journal = createMemoryJournal();
  await using runtime = await open(journal, { approve });
  await runtime.execute(PROGRAM, { id: "one" });
  return journal;
}

describe("a program that is held for a decision", () => {
  test("runs once it is allowed, and nothing of it before; the source is what the approver is shown", async () => {
    const journal = createMemoryJournal();
    const seen: string[] = [];
    const approve: Approve = async ({ callId, tool, input }) => {
      expect({ callId, tool, input }).toEqual(HELD);
      const turns = (await Array.fromAsync(journal.read("one"))).filter(({ type }) => type === "turn");
      expect([...turns, ...done]).toEqual([]);
      seen.push("asked");
      return { allow: true, by: "ann", note: "read" };
    };
    await using runtime = await open(journal, { approve });
    const onEvent = ({ type }: { readonly type: string }) => seen.push(type);
    const report = await runtime.execute(PROGRAM, { id: "one", onEvent });
    expect(report.outcome).toEqual({ type: "completed", value: 1 });
    expect(seen.indexOf("asked")).toBeLessThan(seen.indexOf("output"));
    const records = await Array.fromAsync(journal.read("one"));
    const about = records.filter((record) => "call" in record && record.call === "program");
    expect(about).toMatchObject([
      { type: "call", tool: "run_program", decision: "held" },
      { type: "decision", allow: true, by: "ann", note: "read" },
      { type: "call", decision: "allowed" },
      { type: "answered", ok: true },
    ]);
    expect(report.usage.calls).toBe(1);
    expect(await runtime.execution("one").replay()).toEqual({ type: "identical" });
  });

  test.each<[string, Approve | undefined, object, number?]>([
    [
      "is denied",
      () => ({ allow: false, note: "Pays\u0007 twice." }),
      {
        code: "approval_denied",
        message:
          'The program was not started. It needs approval, and approval was denied. Reason given: "Pays\\u0007 twice."',
      },
    ],
    ["has no approver", undefined, { code: "approval_unavailable" }],
    ["waits too long", () => new Promise<never>(() => {}), { code: "approval_expired" }, 30],
  ])("fails if it %s, and nothing of it runs", async (_, approve, fault, waitMs) => {
    const journal = createMemoryJournal();
    await using runtime = await open(journal, {
      ...(approve ? { approve } : {}),
      limits: { waitMs },
      onEvent: () => {},
    });
    const report = await runtime.execute(PROGRAM, { id: "one" });
    expect(report.outcome).toMatchObject({ type: "failed", fault: { ...fault, tool: "run_program" } });
    expect(report.logs.text).toBe("");
    expect(done).toEqual([]);
    expect((await Array.fromAsync(journal.read("one"))).some(({ type }) => type === "turn")).toBe(false);
    expect((await runtime.execution("one").resume()).outcome).toEqual(report.outcome);
  });

  test("waits for a later decision without a driver, and is taken up with it by a runtime that holds no programs", async () => {
    const journal = createMemoryJournal();
    {
      await using runtime = await open(journal, { approve: () => "later" });
      const { outcome, output } = await runtime.execute(PROGRAM, { id: "one" });
      expect(outcome).toMatchObject({ type: "waiting", approvals: [{ ...HELD, why: "approval" }], calls: [] });
      expect(output.text).toContain("run_program (call program)");
    }
    await using runtime = await open(journal, { approvePrograms: false });
    expect(await Array.fromAsync(runtime.executions.list({ open: true }))).toMatchObject([
      { state: "waiting", waitsFor: ["run_program"] },
    ]);
    expect(await Array.fromAsync(runtime.recover())).toEqual([]);
    expect((await runtime.execution("one").resume()).outcome.type).toBe("waiting");
    await runtime.execution("one").decide({ program: { allow: true, by: "ann" } });
    await expect(runtime.execution("one").decide({ program: { allow: false } })).rejects.toMatchObject(
      failing("decision_exists", "by ann: allowed"),
    );
    const [report] = await Array.fromAsync(runtime.recover());
    expect(report).toHaveProperty("outcome", { type: "completed", value: 1 });
    await expect(runtime.execution("one").decide({ program: { allow: true } })).rejects.toMatchObject(
      failing("decision_exists", "by ann: allowed"),
    );
  });

  test("is ended by a later denial, and by cancelling", async () => {
    await using runtime = await open(await heldFor(() => "later"));
    const decisions = { program: { allow: false, by: "ann", note: "no" } };
    const { outcome } = await runtime.execution("one").resume({ decisions });
    expect(outcome).toMatchObject({ fault: { code: "approval_denied", message: expect.stringMatching(/"no"$/) } });
    const cancelling = new AbortController();
    const clock = settableClock();
    const approve: Approve = ({ signal }) => {
      clock.jump(700);
      cancelling.abort();
      expect(signal.aborted).toBe(true);
      return true;
    };
    const cancelled = await runtime.execute(PROGRAM, { approve, signal: cancelling.signal });
    expect(cancelled.outcome).toEqual({ type: "cancelled" });
    expect(cancelled.usage.approvalMs).toBeGreaterThanOrEqual(700);
    expect(done).toEqual([]);
  });

  test("stays held wherever its host died before the decision, and starts once wherever it died after", async () => {
    const journal = await heldFor(() => true);
    const records = await Array.fromAsync(journal.read("one"));
    const decided = records.findIndex(({ type }) => type === "decision");
    for (let count = 1; count <= records.length; count += 1) {
      const cut = await leftOf(journal, "one", count);
      let asked = 0;
      const approve: Approve = () => (asked += 1) > 0;
      await using runtime = await open(cut, { approvePrograms: false, approve });
      const report = await runtime.execution("one").resume();
      if (count <= decided && report.outcome.type === "waiting") {
        expect(done).toEqual([]);
        await runtime.execution("one").decide({ program: { allow: true } });
        expect((await runtime.execution("one").resume()).outcome.type).not.toBe("waiting");
        continue;
      }
      expect(asked, `after ${count}`).toBe(count <= decided ? 1 : 0);
      expect(report.outcome.type === "waiting" || report.outcome.type === "completed").toBe(true);
    }
  });

  test("hosts that died while it was held do not count as deaths of the program", async () => {
    const cut = await leftOf(await heldFor(() => "later"), "one", 1);
    for (let death = 0; death < 4; death += 1)
      await cut.append("one", 1 + death, [{ type: "claim", driver: `d${death}`, leaseMs: 0, at: 1 }]);
    await using runtime = await open(cut, { approve: () => true });
    expect((await runtime.execution("one").resume()).outcome).toEqual({ type: "completed", value: 1 });
  });

  test("is held in a conversation too, which waits for it", async () => {
    const asked: unknown[] = [];
    const agent = async (approve: Approve) => {
      await using runtime = await open(createMemoryJournal(), { approve, onEvent: () => {} });
      const model = scriptedModel([{ programs: [PROGRAM] }, ({ results }) => ({ text: results[0]?.text ?? "" })]);
      return await runtime.agent({ model, task: "Work." });
    };
    const allowed = await agent(({ input }) => asked.push(input) > 0);
    expect(asked).toEqual([HELD.input]);
    expect(allowed.answer).toContain("1");
    const denied = await agent(() => ({ allow: false, note: "Not now." }));
    expect(denied.answer).toContain('"Not now."');
    const later = await agent(() => "later");
    expect(later.ending).toMatchObject({
      type: "waiting",
      approvals: [{ callId: "call-1/program", tool: "run_program", input: HELD.input }],
    });
    expect(done).toEqual([]);
  });
});

test("approvePrograms of one execute counts before the runtime's, and a tool of that name is refused", async () => {
  await using runtime = await open(createMemoryJournal(), { approve: () => false });
  expect((await runtime.execute(PROGRAM, { approvePrograms: false })).outcome.type).toBe("completed");
  const tool = makeTool({ name: "run_program", execute: () => 1 });
  await using other = await open(createMemoryJournal(), { tools: [tool], approve: () => true });
  await expect(other.execute("return 1;")).rejects.toMatchObject({ code: "tools_conflict" });
});
