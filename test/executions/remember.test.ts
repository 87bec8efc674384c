import { expect, test } from "vitest";
import { z } from "zod";
import { showText } from "../../src/cli/commands/journal/show.ts";
import { type Approve, type Tool } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { journalWith, notedTool, runtimeWith } from "../support/index.ts";

/** A tool that needs approval, with a note of what it has done. */
function makePay(input: z.ZodObject = z.object({ n: z.number() })) {
  const about = { name: "pay", effect: "write", approval: "always", execute: () => "paid" } as const;
  const { tool: pay, inputs: done } = notedTool({ ...about, inputSchema: input });
  return { pay, done };
}

const LATER: Approve = () => "later";
const open = (journal: Journal, tools: readonly Tool[], approve: Approve = LATER) =>
  runtimeWith(tools, { journal, approve });
const TRY = "const attempt = (n) => tools.pay({ n }).catch(({ code, message }) => `${code}: ${message}`);";

async function decisionsOf(journal: Journal) {
  return (await Array.fromAsync(journal.read("one"))).flatMap((record) =>
    record.type === "decision" ? [{ ...record, at: 0 }] : [],
  );
}

test("a remembered decision holds for equal calls in later runtimes, and each call has a decision record of its own", async () => {
  const journal = createMemoryJournal();
  const { pay, done } = makePay();
  {
    await using runtime = await open(journal, [pay]);
    const program = `${TRY} return [await attempt(1), await attempt(1), await attempt(2), await attempt(1)];`;
    await runtime.execute(program, { id: "one" });
    await runtime.execution("one").decide({ "1": { allow: true, by: "ann", note: "small", remember: "execution" } });
  }
  {
    await using runtime = await open(journal, [pay]);
    const waits = await runtime.execution("one").resume();
    // The third call has another input.
    expect(waits.outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "3", input: { n: 2 } }] });
    expect(done).toEqual([{ n: 1 }, { n: 1 }]);
  }
  // Without an approver, and with the decision only in the journal.
  await using runtime = await runtimeWith([pay], { journal });
  const { outcome } = await runtime.execution("one").resume({ decisions: { "3": { allow: true, by: "bob" } } });
  expect(outcome).toEqual({ type: "completed", value: ["paid", "paid", "paid", "paid"] });
  expect(done).toEqual([{ n: 1 }, { n: 1 }, { n: 2 }, { n: 1 }]);
  const ann = { type: "decision", allow: true, by: "ann", note: "small", at: 0 };
  expect(await decisionsOf(journal)).toEqual([
    { ...ann, call: "1", remember: "execution" },
    { ...ann, call: "2", remembered: "1" },
    { type: "decision", allow: true, by: "bob", call: "3", at: 0 },
    { ...ann, call: "4", remembered: "1" },
  ]);
  expect(await runtime.execution("one").replay()).toEqual({ type: "identical" });
});

test("a remembered denial is repeated with its note, and calls that wait at the same time are decided with it", async () => {
  const journal = createMemoryJournal();
  const { pay, done } = makePay();
  await using runtime = await open(journal, [pay]);
  const program = `${TRY} return [...await Promise.all([attempt(1), attempt(1)]), await attempt(1)];`;
  const waits = await runtime.execute(program, { id: "one" });
  expect(waits.outcome).toMatchObject({ approvals: [{ callId: "1" }, { callId: "2" }] });
  const decisions = { "2": { allow: false, by: "ann", note: "not this one", remember: "execution" } } as const;
  const { outcome } = await runtime.execution("one").resume({ decisions });
  const denied = expect.stringMatching(/^approval_denied: .*"not this one"$/);
  expect(outcome).toEqual({ type: "completed", value: [denied, denied, denied] });
  expect(done).toEqual([]);
});

test("a denial that reaches the journal before a remembered decision is written holds", async () => {
  const { pay, done } = makePay();
  const inner = createMemoryJournal();
  const denied = new Set<string>();
  const append: Journal["append"] = async (execution, expected, records, options) => {
    const [call] = records.flatMap((one) => (one.type === "decision" && one.remembered ? [one.call] : []));
    const denial = { type: "decision", call: call ?? "", allow: false, by: "bob", note: "no", at: 1 } as const;
    if (call !== undefined && !denied.has(call)) await inner.append(execution, expected, [denial]);
    denied.add(call ?? "");
    return inner.append(execution, expected, records, options);
  };
  const journal: Journal = { ...inner, append };
  await using runtime = await open(journal, [pay], () => ({ allow: true, by: "ann", remember: "execution" }));
  const { outcome } = await runtime.execute(`${TRY} return [await attempt(1), await attempt(1)];`);
  expect(outcome).toMatchObject({ value: ["paid", expect.stringContaining("approval_denied: ") as string] });
  expect(done).toHaveLength(1);
});

test("a remembered decision does not hold for a tool that has changed under its name", async () => {
  const journal = createMemoryJournal();
  const first = makePay();
  {
    await using runtime = await open(journal, [first.pay]);
    await runtime.execute(`${TRY} return [await attempt(1), await attempt(1)];`, { id: "one" });
    const decisions = { "1": { allow: true, remember: "execution" } } as const;
    await runtime.execution("one").decide(decisions);
  }
  const second = makePay(z.object({ n: z.number().max(5) }));
  await using runtime = await open(journal, [second.pay]);
  const waits = await runtime.execution("one").resume({ allowChangedTools: true });
  expect(second.done).toEqual([{ n: 1 }]);
  expect(waits.outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "2" }] });
});

test("a decision about a call whose outcome is unknown cannot be remembered, nor one with another word", async () => {
  const journal = createMemoryJournal();
  const { pay } = makePay();
  {
    await using runtime = await open(journal, [pay], () => true);
    await runtime.execute(`${TRY} return await attempt(1);`, { id: "one" });
  }
  const records = await Array.fromAsync(journal.read("one"));
  const allowed = records.findIndex((record) => record.type === "call" && record.decision === "allowed");
  const cut = await journalWith(records.slice(0, allowed + 1));
  await using runtime = await open(cut, [pay]);
  const { outcome, output } = await runtime.execution("one").resume();
  expect(outcome).toMatchObject({ approvals: [{ why: "outcome_unknown" }] });
  expect(output.text).toContain("waits for a decision about pay (call 1), which may have taken effect already.");
  expect(await showText(cut, "one")).toContain("waits for a decision: it may have taken effect already");
  const refused = { code: "option_invalid", message: expect.stringContaining('decisions["1"].remember') };
  const remember = "execution";
  await expect(runtime.execution("one").decide({ "1": { allow: true, hold: 2, remember } })).rejects.toMatchObject(
    refused,
  );
  await expect(
    runtime.execution("one").decide({ "1": { done: { value: 1 }, hold: 2, remember } }),
  ).rejects.toMatchObject(refused);
  const always = { allow: true, remember: "always" as "execution" };
  await expect(runtime.execution("one").decide({ "1": always })).rejects.toMatchObject(refused);
});
