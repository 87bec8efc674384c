import { beforeEach, expect, test } from "vitest";
import { type ClockAlarm, type ClockLimits, Clocks } from "../../../src/executions/drive/limit-clocks.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});
const pass = (ms: number) => clock.pass(ms);

function start(
  limits: ClockLimits,
  processorMs: () => number | undefined = () => undefined,
  waitsForApproval: () => boolean = () => false,
  waitsForStore: () => boolean = () => false,
  isListening: () => boolean = () => true,
) {
  const alarms: ClockAlarm[] = [];
  const readings = { processorMs, waitsForApproval, waitsForStore, isListening };
  const clocks = new Clocks(limits, (alarm) => alarms.push(alarm), readings);
  clocks.begin();
  return { clocks, alarms };
}

/** A guest that has the turn and gets this much of a core, one slice in every `everyMs`. */
function startSharing(limits: ClockLimits, { sliceMs, everyMs }: { sliceMs: number; everyMs: number }) {
  const since = clock.monotonic();
  const started = start(limits, () => 40 + Math.floor((clock.monotonic() - since) / everyMs) * sliceMs);
  started.clocks.run();
  return started;
}

test("only the time of turns is running time, and all time is wall time", () => {
  const { clocks } = start({ cpuMs: 1000, wallMs: 1000 });
  pass(5);
  clocks.run();
  pass(20);
  clocks.wait();
  pass(300);
  clocks.run();
  pass(7);
  expect([clocks.cpuMs, clocks.wallMs]).toEqual([27, 332]);
});

test("a program that runs too long is stopped at the next tick, in one turn or in many", () => {
  const one = start({ cpuMs: 100, wallMs: 10_000 });
  one.clocks.run();
  pass(100);
  expect(one.alarms).toEqual([]);
  pass(10);
  expect(one.alarms).toEqual([{ limit: "cpuMs", allowed: 100, seen: 110 }]);

  const many = start({ cpuMs: 100, wallMs: 10_000 });
  for (let turn = 0; turn < 10; turn += 1) {
    many.clocks.run();
    pass(10);
    many.clocks.wait();
    pass(50);
  }
  expect(many.alarms).toEqual([]);
  many.clocks.run();
  pass(10);
  expect(many.alarms).toEqual([{ limit: "cpuMs", allowed: 100, seen: 110 }]);
});

test("stopped clocks report no limit, leave no timer, and count no running time", () => {
  const { clocks, alarms } = start({ cpuMs: 50, wallMs: 50 });
  clocks.run();
  pass(20);
  clocks.stop();
  pass(1000);
  expect(alarms).toEqual([]);
  expect(clocks.cpuMs).toBe(20);
  expect(clock.timers).toBe(0);
});

test.each([
  { sliceMs: 5, everyMs: 100 },
  { sliceMs: 4, everyMs: 500 },
])("waiting for a core is not charged where processor time is known: %j", (sharing) => {
  const { clocks, alarms } = startSharing({ cpuMs: 1000, wallMs: 1e9 }, sharing);
  pass((900 / sharing.sliceMs) * sharing.everyMs);
  expect(alarms).toEqual([]);
  pass((200 / sharing.sliceMs) * sharing.everyMs);
  expect(alarms[0]).toMatchObject({ limit: "cpuMs", allowed: 1000 });
  expect(alarms[0]?.seen).toBeLessThan(1100);
  expect(clocks.cpuMs).toBeGreaterThan(1000);
});

test("a program that blocks during its turn is stopped by the clock", () => {
  const { alarms } = start({ cpuMs: 1000, wallMs: 1e9 }, () => 40);
  pass(900);
  expect(alarms).toEqual([]);
  const { clocks, alarms: ofTurn } = start({ cpuMs: 1000, wallMs: 1e9 }, () => 40);
  clocks.run();
  pass(1010);
  expect(ofTurn[0]).toEqual({ limit: "cpuMs", allowed: 1000, seen: 1010 });
});

test("time in which the host has not taken what a program has sent is not charged, unless the program works on", () => {
  let [isListening, usedMs] = [false, 40];
  const no = () => false;
  const { clocks, alarms } = start(
    { cpuMs: 1000, wallMs: 1e9 },
    () => usedMs,
    no,
    no,
    () => isListening,
  );
  clocks.run();
  pass(60_000);
  expect([clocks.cpuMs, alarms]).toEqual([10, []]);
  for (let tick = 0; tick < 50; tick += 1) {
    pass(10);
    usedMs += 10;
  }
  expect(Math.round(clocks.cpuMs / 20) * 20).toBe(500);
  pass(60_000);
  expect(alarms).toEqual([]);
  isListening = true;
  pass(620);
  expect(alarms[0]).toMatchObject({ limit: "cpuMs", allowed: 1000 });
});

test("time in which the host's own thread was away is not charged to a program that used no processor time", () => {
  const { clocks, alarms } = start({ cpuMs: 1000, wallMs: 1e9 }, () => 40);
  clocks.run();
  pass(10);
  for (let turn = 1; turn < 20; turn += 1) clock.block(700);
  expect([clocks.cpuMs, alarms]).toEqual([10, []]);
  pass(1000);
  expect(alarms[0]).toMatchObject({ limit: "cpuMs" });
});

test("processor time of many turns between two readings counts", () => {
  let usedMs = 40;
  const { clocks, alarms } = start({ cpuMs: 100, wallMs: 1e9 }, () => usedMs);
  for (let turn = 0; turn < 30 && alarms.length === 0; turn += 1) {
    pass(3);
    clocks.run();
    pass(4);
    usedMs += 4;
    clocks.wait();
    pass(3);
  }
  expect(alarms).toMatchObject([{ limit: "cpuMs", allowed: 100 }]);
});

test("the processor time of a new guest is counted from its own start", () => {
  let usedMs = 5000;
  const { clocks, alarms } = start({ cpuMs: 1000, wallMs: 1e9 }, () => (usedMs += 10));
  clocks.run();
  pass(500);
  usedMs = 10;
  clocks.begin();
  pass(490);
  expect([clocks.cpuMs, alarms]).toEqual([990, []]);
});

test("time in which a journal is locked is not charged as wall time, and not twice where approvals are awaited too", () => {
  let [isLocked, waits] = [false, false];
  const { clocks, alarms } = start(
    { cpuMs: 100, wallMs: 500 },
    () => undefined,
    () => waits,
    () => isLocked,
  );
  pass(300);
  isLocked = true;
  pass(1000);
  waits = true;
  pass(1000);
  isLocked = false;
  pass(1000);
  waits = false;
  pass(170);
  expect([alarms, clocks.approvalMs]).toEqual([[], 1990]);
  pass(40);
  expect(alarms[0]).toEqual({ limit: "wallMs", allowed: 500, seen: 510 });
});
