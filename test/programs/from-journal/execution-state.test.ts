import * as fc from "fast-check";
import { expect, test } from "vitest";
import { answerText, frameText, type GuestFrame } from "../../../bridge/frames.ts";
import type { CallRecord, JournalRecord } from "../../../src/journal/record.ts";
import { readPast } from "../../../src/programs/from-journal/past-execution.ts";
import { header, outcome, turn } from "../../journal/records.ts";

const AT = 1_700_000_000_000;
const start = frameText({
  kind: "start",
  protocol: 1,
  now: AT,
  seed: "0".repeat(32),
  limits: { calls: 1, logBytes: 1, printedBytes: 1, frameBytes: 1 },
  body: '{"program":"","tools":[]}',
});
const fire = (id: number, now = AT) => frameText({ kind: "fire", now, id });
const answer = (id: number, now = AT) => answerText(now, id, true, "1");
const call = (id: number) => frameText({ kind: "call", id, tool: "crm.find", body: `{"id":${id}}` });
const timer = (id: number, ms: number) => frameText({ kind: "timer", id, ms });
const clear = (id: number) => frameText({ kind: "clear", id });
const decided = (id: string, decision: CallRecord["decision"]): CallRecord => ({
  type: "call",
  call: id,
  tool: "crm.find",
  caller: "programmatic",
  decision,
  at: AT,
});

const stateOf = async (records: readonly JournalRecord[]) => (await readPast(records)).state;

test("calls and timers are open from the turn that makes them to the turn that closes them", async () => {
  const records = [
    header("one"),
    turn(start, call(1), timer(2, 50), call(3), timer(4, 10)),
    turn(answer(1, AT + 5), call(5)),
    turn(fire(4, AT + 10), clear(2)),
  ];
  expect(await stateOf(records.slice(0, 1))).toMatchObject({ turns: 0, now: 0, calls: new Map(), timers: new Map() });
  const state = await stateOf(records);
  expect([...state.calls.keys()]).toEqual([3, 5]);
  expect(state.calls.get(5)).toEqual({ id: 5, tool: "crm.find", inputText: '{"id":5}' });
  expect(state.timers).toEqual(new Map());
  expect(state).toMatchObject({ turns: 3, now: AT + 10, records: 4 });
  expect((await stateOf(records.slice(0, 2))).timers.get(2)).toEqual({ id: 2, ms: 50, setAt: AT });
});

test("a stop event closes the calls and leaves the timers to the driver", async () => {
  const state = await stateOf([
    header("one"),
    turn(start, call(1), timer(2, 50)),
    turn(frameText({ kind: "stop", now: AT })),
  ]);
  expect([...state.calls.keys()]).toEqual([]);
  expect(state.end.stopped).toBe(true);
});

test("an open call has the decisions of the gate and the approver and its handler's end, and the first decision counts", async () => {
  const state = await stateOf([
    header("one"),
    turn(start, call(1), call(2)),
    decided("1", "held"),
    { type: "decision", call: "1", allow: true, by: "ann", at: AT },
    { type: "decision", call: "1", allow: false, by: "bob", at: AT },
    decided("1", "allowed"),
    { type: "answered", call: "1", ok: true, ms: 3, bytes: 1, at: AT },
    { type: "result", call: "2", value: "1", at: AT },
    { type: "result", call: "2", error: "no", at: AT },
    decided("99", "refused"),
  ]);
  expect(state.calls.get(1)).toMatchObject({
    decided: { decision: "allowed" },
    decision: { allow: true, by: "ann" },
    answered: { ms: 3 },
  });
  expect(state.calls.get(2)).toMatchObject({ result: { value: "1" } });
  expect(state.calls.size).toBe(2);
});

test("the state has claims, restarts, egress, the program's end and the outcome", async () => {
  const settled = frameText({ kind: "settled", ok: true, notes: [], body: "1" });
  const state = await stateOf([
    header("one"),
    { type: "claim", driver: "d1", leaseMs: 1, at: AT },
    turn(start),
    { type: "restart", detail: "it died", at: AT },
    { type: "claim", driver: "d2", leaseMs: 1, at: AT },
  ]);
  expect(state).toMatchObject({ drivers: { latest: "d2" }, restarts: 1, turns: 1, turnsSinceStart: 0 });
  expect((await stateOf([turn(start, '{"kind":"unreplayable","cause":"files"}')])).unreplayable).toBe("files");
  expect(await stateOf([header("one"), turn(start, settled), outcome])).toMatchObject({
    end: { settled: { ok: true, body: "1" }, outcome: outcome.outcome },
  });
});

test("drivers count as silent if they had taken the execution up and lost it while the program had the turn", async () => {
  const claim = (driver: string) => ({ type: "claim", driver, leaseMs: 1, at: AT }) as const;
  const hand = (to: "program" | "host") => ({ type: "hand", to, at: AT }) as const;
  const silentAfter = async (...records: readonly JournalRecord[]) => [
    ...(await stateOf([header("one"), turn(start), ...records])).drivers.silent,
  ];
  expect(await silentAfter(claim("a"), claim("b"))).toEqual([]);
  expect(await silentAfter(claim("a"), hand("program"), hand("host"), claim("b"))).toEqual([]);
  expect(await silentAfter(claim("a"), hand("program"))).toEqual([]);
  const two = [claim("a"), hand("program"), claim("b"), hand("program"), claim("c")];
  expect(await silentAfter(...two)).toEqual(["a", "b"]);
  expect(await silentAfter(...two, { type: "alive", driver: "a", at: AT })).toEqual(["b"]);
  expect(await silentAfter(...two, turn(answer(1)))).toEqual([]);
});

test.each([
  turn("{}"),
  turn('{"kind":"start"}'),
  turn(frameText({ kind: "turn_end", open: 0 })),
  turn(start, answer(1)),
  turn(start, '{"kind":"call","id":1,"tool":"x"}'),
  turn("__proto__"),
])("a turn that no bridge would have carried is refused: %j", async (record) => {
  await expect(stateOf([header("one"), record])).rejects.toThrow(expect.objectContaining({ code: "journal_invalid" }));
});

test("records that were stored as JSON lead to the same state", async () => {
  const command = fc.constantFrom<GuestFrame["kind"]>("call", "timer", "clear");
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(command, fc.integer({ min: 1, max: 6 }))), async (commands) => {
      const records: JournalRecord[] = [header("one"), turn(start)];
      for (const [kind, id] of commands) {
        const made = kind === "call" ? call(id) : kind === "timer" ? timer(id, id) : clear(id);
        records.push(turn(id % 2 === 0 ? answer(id, AT + id) : fire(id, AT + id), made));
      }
      const stored = JSON.parse(JSON.stringify(records)) as JournalRecord[];
      expect(await stateOf(stored)).toEqual(await stateOf(records));
    }),
  );
});
