import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Approve, defineTool, type RuntimeOptions } from "../../src/index.ts";
import { createMemoryJournal, type Journal, type JournalRecord } from "../../src/journal/index.ts";
import { journalWith, runtimeWith } from "../support/index.ts";

/** Time that a call may wait where the test waits for its end. */
const SHORT_MS = 30;
/** The same where something has to be done before that end. */
const ENOUGH_MS = 1000;
/** Time that no test waits for. */
const LONG_MS = 3_600_000;

const done: string[] = [];
const common = {
  description: "d",
  inputSchema: z.object({}),
  allowedCallers: ["programmatic"],
  effect: "write",
} as const;
const handler = (_: unknown, { callId }: { readonly callId: string }) => done.push(callId);
const tools = [
  defineTool({ ...common, name: "pay", approval: "always", execute: handler }),
  defineTool({ ...common, name: "send", execute: handler }),
  defineTool({ ...common, name: "stock", execute: "client" }),
];
/** Makes a call of each tool that waits, and gives the code that each ends with. */
const PROGRAM = `
  const tried = await Promise.allSettled([tools.pay({}), tools.stock({})]);
  return tried.map(({ value, reason }) => reason?.code ?? value);
`;

function open(journal: Journal, waitMs: number, options: Partial<RuntimeOptions> = {}) {
  done.length = 0;
  return runtimeWith(tools, { journal, limits: { waitMs }, approve: () => "later", ...options });
}

/** A copy of an execution that was written so much earlier, or of its first records. */
async function aged(journal: Journal, ms: number, count = Number.POSITIVE_INFINITY): Promise<Journal> {
  const records = (await Array.fromAsync(journal.read("one"))).slice(0, count);
  return journalWith(
    records.map((record): JournalRecord => ("at" in record ? { ...record, at: record.at - ms } : record)),
  );
}

/** An execution that waits for both calls, as it is `ms` later. */
async function waitingFor(ms: number, program = PROGRAM): Promise<Journal> {
  const journal = createMemoryJournal();
  await using runtime = await open(journal, LONG_MS);
  expect((await runtime.execute(program, { id: "one" })).outcome.type).toBe("waiting");
  return aged(journal, ms);
}

const read = (journal: Journal) => Array.fromAsync(journal.read("one"));

describe("while its driver lives", () => {
  test("a call whose approver does not answer within waitMs is refused, and the approver is told", async () => {
    const signals: AbortSignal[] = [];
    const approve: Approve = ({ signal }) => {
      signals.push(signal);
      return new Promise<never>(() => {});
    };
    const journal = createMemoryJournal();
    await using runtime = await open(journal, SHORT_MS, { approve });
    const program = `try { await tools.pay({}); } catch (error) { return [error.code, error.message]; }`;
    const { outcome, calls } = await runtime.execute(program, { id: "one" });
    expect(outcome).toEqual({
      type: "completed",
      value: ["approval_expired", expect.stringContaining("30 ms (limit waitMs)")],
    });
    expect(calls).toMatchObject([{ outcome: { type: "refused", code: "approval_expired" }, started: false }]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(done).toEqual([]);
    expect(await runtime.execution("one").replay()).toEqual({ type: "identical" });
  });

  test("a decision that is in the journal at the end of that time holds", async () => {
    const journal = createMemoryJournal();
    const approve: Approve = async () => {
      // By another process: this driver reads it when it appends, renews its lease, or the time is over.
      const { records } = await journal.find("one");
      await journal.append("one", records, [{ type: "decision", call: "1", allow: true, by: "ann", at: Date.now() }]);
      return new Promise<never>(() => {});
    };
    await using runtime = await open(journal, ENOUGH_MS, { approve });
    const { outcome } = await runtime.execute("return await tools.pay({});", { id: "one" });
    expect(outcome).toEqual({ type: "completed", value: 1 });
    expect(done).toEqual(["1"]);
  });
});

describe("where no process waits with it", () => {
  test("a call that has waited for longer takes no decision and no result, and nothing changes", async () => {
    const journal = await waitingFor(LONG_MS);
    const before = await read(journal);
    await using runtime = await open(journal, LONG_MS);
    const expired = { code: "approval_expired", message: expect.stringContaining("(limit waitMs: 3600000 ms)") };
    const decisions = { "1": { allow: true } };
    await expect(runtime.execution("one").decide(decisions)).rejects.toMatchObject(expired);
    await expect(runtime.execution("one").resume({ decisions })).rejects.toMatchObject(expired);
    await expect(runtime.execution("one").resume({ results: { "2": { value: 1 } } })).rejects.toMatchObject(expired);
    expect(await read(journal)).toEqual(before);
    expect(done).toEqual([]);
  });

  test("an execution that waits is left alone until the time of a call is over; then recover goes on with it", async () => {
    const early = await waitingFor(LONG_MS / 2);
    {
      await using runtime = await open(early, LONG_MS);
      expect(await Array.fromAsync(runtime.recover())).toEqual([]);
      expect(await Array.fromAsync(runtime.executions.list())).toMatchObject([{ state: "waiting" }]);
    }
    const late = await waitingFor(LONG_MS);
    await using runtime = await open(late, LONG_MS);
    expect(await Array.fromAsync(runtime.executions.list())).toMatchObject([{ state: "running", driven: false }]);
    const [report] = await Array.fromAsync(runtime.recover());
    expect(report).toHaveProperty("outcome", { type: "completed", value: ["approval_expired", "result_expired"] });
    expect(done).toEqual([]);
    expect(await runtime.execution("one").replay()).toEqual({ type: "identical" });
  });

  test("resume goes on with it too, and a call whose time is not over waits on", async () => {
    // The first call waits for its person, the second begins to wait only after the first has expired.
    const journal = await waitingFor(
      LONG_MS,
      `const one = await tools.pay({}).catch(({ code }) => code); return [one, await tools.stock({})];`,
    );
    await using runtime = await open(journal, LONG_MS);
    const waits = await runtime.execution("one").resume();
    expect(waits.outcome).toMatchObject({ type: "waiting", approvals: [], calls: [{ callId: "2", tool: "stock" }] });
    const { outcome } = await runtime.execution("one").resume({ results: { "2": { value: 5 } } });
    expect(outcome).toEqual({ type: "completed", value: ["approval_expired", 5] });
  });

  test("a call whose handler may have run fails with outcome_unknown, because it may have taken effect", async () => {
    const journal = createMemoryJournal();
    {
      await using runtime = await open(journal, LONG_MS);
      await runtime.execute("return await tools.send({}).catch(({ code }) => code);", { id: "one" });
    }
    const records = await read(journal);
    const allowed = records.findIndex((record) => record.type === "call");
    const cut = await aged(journal, 0, allowed + 1);
    await using runtime = await open(cut, LONG_MS);
    expect((await runtime.execution("one").resume()).outcome).toMatchObject({
      approvals: [{ why: "outcome_unknown" }],
    });
    const late = await aged(cut, LONG_MS);
    await using last = await open(late, LONG_MS);
    expect((await last.execution("one").resume()).outcome).toEqual({ type: "completed", value: "outcome_unknown" });
    expect(done).toEqual([]);
  });
});

test.each([
  ["expired", { waitMs: SHORT_MS }, () => new Promise<never>(() => {}), "approval_expired"],
  ["was denied", {}, () => ({ allow: false, note: "no" }), "approval_denied"],
])("a call that %s before its driver died stays so: it is not asked about again", async (_, limits, approve, code) => {
  const journal = createMemoryJournal();
  await using first = await runtimeWith(tools, { journal, limits, approve });
  const program = "return await tools.pay({}).catch(({ code }) => code);";
  await first.execute(program, { id: "one" });
  const records = await read(journal);
  const refused = records.findIndex((record) => record.type === "call" && record.decision === "refused");
  const cut = await aged(journal, 0, refused + 1);
  let asked = 0;
  await using second = await runtimeWith(tools, { journal: cut, approve: () => (asked += 1) > 0 });
  expect((await second.execution("one").resume()).outcome).toEqual({ type: "completed", value: code });
  expect(asked).toBe(0);
});
