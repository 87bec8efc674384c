import { expect, test } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import type { Journal, JournalRecord } from "../../src/journal/index.ts";
import { parseRecords } from "../../src/journal/reading/parse-records.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { viewExecution } from "../../src/serve/views/view-execution.ts";
import { makeTool } from "../gate/open-session.ts";
import { changedClock, settableClock } from "../support/clock.ts";
import { journalWith, runtimeWith, testOfAll } from "../support/index.ts";

const tools = [makeTool({ name: "pay", approval: "always", effect: "write" })];

/** Computes about this long, waits for an approval, and computes again. A program's clock stands still while it computes. */
const source = (ms: number, times: number) => `
  const compute = () => { let sum = 0; for (let n = 0; n < ${ms} * 1e6; n += 1) sum += n % 7; return sum; };
  for (let n = 0; n < ${times}; n += 1) { compute(); await tools.pay({}); }
  compute();
  // The clocks are looked at while it waits: the memory sandbox has no thread of its own.
  await new Promise((resolve) => setTimeout(resolve, 100));
  return 1;`;

function open(journal: Journal) {
  return runtimeWith(tools, { journal, approve: () => "later" });
}

/** Runs a program to its end, with another driver after each wait. `away`: milliseconds between two drivers. */
async function ranInSteps(times: number, away: number) {
  let wall = Date.now();
  changedClock({ now: () => wall });
  const journal = createMemoryJournal();
  await using first = await open(journal);
  let report = await first.execute(source(20, times));
  const { execution } = report;
  const running = [report.usage.cpuMs];
  for (let call = 1; report.outcome.type === "waiting"; call += 1) {
    wall += away;
    await using next = await open(journal);
    report = await next.execution(execution).resume({ decisions: { [call]: { allow: true } } });
    running.push(report.usage.cpuMs);
  }
  return { journal, report, execution, running };
}

test("the running time of all drivers counts: a program that waits and is resumed ends at its limit", async () => {
  const before = createMemoryJournal();
  await using first = await open(before);
  const { execution } = await first.execute(source(60, 1));
  const records = await Array.fromAsync(before.read(execution));
  const spent = (record: JournalRecord): JournalRecord =>
    record.type === "turn" ? { ...record, usage: { ...record.usage, cpuMs: 9999 } } : record;
  const journal = await journalWith(records.map(spent));
  await using next = await open(journal);
  const report = await next.execution(execution).resume({ decisions: { 1: { allow: true } } });
  expect(report.outcome).toMatchObject({ type: "stopped", limit: "cpuMs", allowed: 10_000 });
});

testOfAll("usage, page and limits show the times of all drivers", async () => {
  const { journal, report, execution, running } = await ranInSteps(4, 60_000);
  expect(report.outcome.type).toBe("completed");
  // Each driver adds to what those before have used.
  for (const [index, ms] of running.entries()) expect(ms).toBeGreaterThan(running[index - 1] ?? 0);
  expect(report.usage.approvalMs).toBeGreaterThanOrEqual(240_000);
  expect(report.usage.approvalMs + report.usage.waitingMs).toBeLessThan(300_000);
  const view = await viewExecution(journal, execution);
  expect(view.limits.find(({ name }) => name === "cpuMs")?.used).toBeCloseTo(report.usage.cpuMs, 0);
  const records = await Array.fromAsync(journal.read(execution));
  expect(parseRecords(records)).toEqual(records);
  await using other = await open(journal);
  const { usage } = await other.execution(execution).resume();
  expect(usage).toEqual(report.usage);
});

test("a program that waits has used what its drivers have used so far", async () => {
  const journal = createMemoryJournal();
  await using runtime = await open(journal);
  const { execution } = await runtime.execute(source(60, 1));
  const { report } = await runtime.execution(execution).status();
  expect(report?.usage.cpuMs).toBeGreaterThan(0);
});

test("a program that was denied after a wait tells how long it waited", async () => {
  const journal = createMemoryJournal();
  const options = { tools, journal, sandbox: createMemorySandbox(), approvePrograms: true } as const;
  await using runtime = await createRuntime({ ...options, approve: () => "later" });
  const { execution } = await runtime.execute("return 1;");
  settableClock().jump(60_000);
  const { usage } = await runtime.execution(execution).resume({ decisions: { program: { allow: false } } });
  expect(usage.approvalMs).toBeGreaterThanOrEqual(60_000);
  const { report } = await runtime.execution(execution).status();
  expect(report?.usage.approvalMs).toBe(usage.approvalMs);
});
