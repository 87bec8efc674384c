import { expect, test } from "vitest";
import { frameText, type GuestFrame } from "../../../bridge/frames.ts";
import { createMemoryJournal } from "../../../src/journal/memory-journal.ts";
import { readPast } from "../../../src/executions/from-journal/past-execution.ts";
import type { GuestEvent } from "../../../src/executions/guest/guest-event.ts";
import { TrackedLog } from "../../../src/executions/from-journal/tracked-log.ts";
import { header, outcome } from "../../journal/records.ts";

const DRIVER = { driver: "d1", leaseMs: 15_000 };
const AT = 1_700_000_000_000;
const start = frameText({
  kind: "start",
  protocol: 1,
  now: AT,
  seed: "0".repeat(32),
  limits: { calls: 1, logBytes: 1, printedBytes: 1, frameBytes: 1 },
  body: '{"program":"","tools":[]}',
});
const BEGIN: GuestEvent = { head: { kind: "start", now: AT }, text: start };
const turnOf = (...commands: readonly GuestFrame[]) => ({
  commands,
  texts: commands.map((command) => frameText(command)),
  sizes: commands.map((command) => frameText(command).length),
  settled: false,
});
const call = (id: number): GuestFrame => ({ kind: "call", id, tool: "crm.find", body: `{"id":${id}}` });

/** Applies turns in one go and appends them. */
async function appendTurns(log: TrackedLog, turns: Parameters<TrackedLog["applyTurns"]>[0]): Promise<void> {
  const applying = log.applyTurns(turns);
  let step = applying.next();
  while (!step.done) step = applying.next();
  log.deferTurns(step.value);
  await log.flush(() => {});
}

test("a deferred record is in the state at once, and in the journal before the next one that is appended", async () => {
  const journal = createMemoryJournal();
  const log = await TrackedLog.create(journal, header("one"), DRIVER);
  await appendTurns(log, [[BEGIN, turnOf(call(1))]]);
  log.defer({ type: "answered", call: "1", ok: false, code: "handler_failed", ms: 1, bytes: 0, at: AT });
  expect(log.state.calls.get(1)?.answered).toMatchObject({ code: "handler_failed" });
  expect((await Array.fromAsync(journal.read("one"))).map(({ type }) => type)).toEqual(["header", "turn"]);
  await log.append(outcome);
  expect((await Array.fromAsync(journal.read("one"))).map(({ type }) => type)).toEqual([
    "header",
    "turn",
    "answered",
    "outcome",
  ]);
});

test("a driver that takes an execution up counts the items that the journal in memory keeps already", async () => {
  const journal = createMemoryJournal();
  const limits = { totalBytes: 400 };
  const log = await TrackedLog.create(journal, header("one", { limits }), DRIVER);
  const body = `["${"x".repeat(86)}"]`;
  const text = frameText({ kind: "items", now: AT, id: 1, count: 1, bytes: body.length, body });
  const head = { kind: "items", now: AT, id: 1, count: 1, bytes: body.length, isKept: true } as const;
  await appendTurns(log, [
    [BEGIN, turnOf(call(1))],
    [{ head, text }, turnOf()],
  ]);
  const { state } = await readPast(journal.read("one"));
  const next = await TrackedLog.claim(journal, state, { ...DRIVER, driver: "d2" });
  expect(next.keepsItems("x".repeat(11))).toBe(false);
});
