import { expect, test } from "vitest";
import type { ExecutionSummary, Journal } from "../../src/journal/journal.ts";
import type { JournalRecord, OutcomeRecord, ProgramHeader, TurnRecord } from "../../src/journal/record.ts";

export function header(execution: string, changes: Partial<ProgramHeader> = {}): ProgramHeader {
  return {
    type: "header",
    kind: "program",
    format: 1,
    execution,
    tenant: "default",
    startedAt: 1_700_000_000_000,
    language: "javascript",
    sandbox: "memory",
    program: "return 1",
    source: "return 1",
    tools: [{ name: "crm.find", digest: "ab" }],
    limits: { calls: 10 },
    versions: { node: "24.0.0" },
    ...changes,
  };
}

export const turn = (event: string, ...commands: string[]): TurnRecord => ({ type: "turn", event, commands });
export const outcome: OutcomeRecord = { type: "outcome", outcome: '{"type":"completed"}', at: 1_700_000_000_001 };

/** One record of every kind that may stand between the first and the last. */
export const RECORDS: readonly JournalRecord[] = [
  turn('{"kind":"start"}\n{}', '{"kind":"call"}\n{"a":"\\u0000 ü 😀"}'),
  { type: "call", call: "1", tool: "crm.find", caller: "programmatic", decision: "allowed", inputDigest: "ab", at: 5 },
  { type: "call", call: "2", tool: "no.tool", caller: "direct", decision: "refused", code: "tool_unknown", at: 6 },
  { type: "call", call: "3", tool: "crm.find", caller: "programmatic", decision: "dropped", at: 7 },
  { type: "violation", detail: "The guest greeted twice.", at: 8 },
  { type: "restart", detail: "the engine ended", at: 9 },
  { type: "claim", driver: "d1", at: 10 },
  { type: "message", from: "model", message: "{}", opaque: "sealed", at: 11 },
  { type: "retry", attempt: 1, reason: "overloaded", delayMs: 500, at: 12 },
  { type: "call", call: "4", tool: "crm.pay", caller: "direct", decision: "held", inputDigest: "cd", at: 13 },
  { type: "decision", call: "4", allow: true, by: "ann", note: "checked", at: 14 },
  { type: "result", call: "5", value: "[1]", at: 15 },
  { type: "answered", call: "4", ok: false, code: "handler_failed", ms: 1.5, bytes: 0, at: 16 },
  {
    type: "egress",
    host: "example.com",
    port: 443,
    address: "203.0.113.1",
    bytesUp: 1,
    bytesDown: 2,
    ms: 3,
    outcome: "done",
    detail: "",
    at: 17,
  },
];

export async function listed(journal: Journal): Promise<ExecutionSummary[]> {
  const summaries: ExecutionSummary[] = [];
  for await (const summary of journal.list()) summaries.push(summary);
  return summaries;
}

/** What every store of executions promises. Each test asks for an empty one. */
export function journalSuite(makeJournal: () => Journal | Promise<Journal>): void {
  test("an execution begins with its header and holds what was appended, in order", async () => {
    const journal = await makeJournal();
    expect(await journal.create(header("one"))).toBe(1);
    expect(await journal.append("one", 1, RECORDS.slice(0, 2))).toBe(3);
    expect(await journal.append("one", 3, RECORDS.slice(2))).toBe(RECORDS.length + 1);
    expect(await journal.append("one", RECORDS.length + 1, [outcome])).toBe(RECORDS.length + 2);
    expect(await journal.read("one")).toEqual([header("one"), ...RECORDS, outcome]);
  });

  test("an execution cannot be created twice, and the second attempt changes nothing", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    await journal.append("one", 1, [turn("event")]);
    await expect(journal.create(header("one", { tenant: "other" }))).rejects.toMatchObject({
      code: "execution_exists",
      message: 'The journal already holds an execution "one".',
    });
    expect(await journal.read("one")).toEqual([header("one"), turn("event")]);
  });

  test.each([0, 1, 3, -1, Number.NaN])(
    "an append at %s, which is not the head, is refused whole, and the rightful one still goes through",
    async (expected) => {
      const journal = await makeJournal();
      await journal.create(header("one"));
      await journal.append("one", 1, [turn("first")]);
      await expect(journal.append("one", expected, [turn("lost"), outcome])).rejects.toMatchObject({
        code: "head_moved",
        message: `Execution "one" has 2 records, not ${expected}: another driver has appended to it.`,
      });
      expect(await journal.read("one")).toEqual([header("one"), turn("first")]);
      expect(await listed(journal)).toMatchObject([{ records: 2, ended: false }]);
      expect(await journal.append("one", 2, [turn("second")])).toBe(3);
    },
  );

  test("of two drivers that append at the same head, one goes through and the other is told", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    const settled = await Promise.allSettled([
      journal.append("one", 1, [turn("a"), turn("b")]),
      journal.append("one", 1, [turn("c"), turn("d")]),
    ]);
    expect(settled.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const winner = settled[0]?.status === "fulfilled" ? [turn("a"), turn("b")] : [turn("c"), turn("d")];
    expect(await journal.read("one")).toEqual([header("one"), ...winner]);
  });

  test("of records that cannot all be appended none is", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    const broken = null as unknown as JournalRecord;
    await expect(journal.append("one", 1, [turn("event"), broken])).rejects.toThrow();
    expect(await journal.read("one")).toEqual([header("one")]);
    expect(await journal.append("one", 1, [turn("event")])).toBe(2);
  });

  test("appending nothing moves no head", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    expect(await journal.append("one", 1, [])).toBe(1);
    expect(await journal.read("one")).toEqual([header("one")]);
  });

  test("an execution that is not there can be neither read nor appended to", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    await expect(journal.read("two")).rejects.toMatchObject({ code: "execution_unknown" });
    await expect(journal.append("two", 1, [outcome])).rejects.toMatchObject({ code: "execution_unknown" });
    await expect(journal.read("__proto__")).rejects.toMatchObject({ code: "execution_unknown" });
  });

  test("what was read does not change when more is appended, nor the journal with what was read", async () => {
    const journal = await makeJournal();
    await journal.create(header("one"));
    const read = await journal.read("one");
    await journal.append("one", 1, [outcome]);
    expect(read).toEqual([header("one")]);
    (read as JournalRecord[]).push(outcome, outcome);
    expect(await journal.read("one")).toHaveLength(2);
  });

  test("an empty journal lists nothing", async () => {
    expect(await listed(await makeJournal())).toEqual([]);
  });

  test("executions are listed the latest first, each with its length and whether it has ended", async () => {
    const journal = await makeJournal();
    await journal.create(header("one", { startedAt: 1, tenant: "a" }));
    await journal.create(header("two", { startedAt: 2, tenant: "b" }));
    await journal.create(header("three", { startedAt: 3 }));
    await journal.append("one", 1, [turn("event")]);
    await journal.append("two", 1, [turn("event"), outcome]);
    expect(await listed(journal)).toEqual([
      { execution: "three", tenant: "default", startedAt: 3, records: 1, ended: false },
      { execution: "two", tenant: "b", startedAt: 2, records: 3, ended: true },
      { execution: "one", tenant: "a", startedAt: 1, records: 2, ended: false },
    ]);
  });
}
