import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Runtime } from "../src/index.ts";
import { createIsolateSandbox } from "../src/sandboxes/index.ts";
import { type Attack, programOf, readAttacks } from "./hostile-support/attacks.ts";
import { cpuMs, enginesOf } from "./hostile-support/engines.ts";
import { FigureTable } from "./hostile-support/figures.ts";
import { HostileLog, limitsOf, titled } from "./hostile-support/hostile-suite.ts";
import { makeLargeResults } from "./hostile-support/tools.ts";
import { growthOf, HostWatch, memoryHeld } from "./hostile-support/watch.ts";

const MIB = 1024 * 1024;
/** What the host may hold after an attack: SECURITY.md promises it as bytes. */
const KEPT_BYTES = 64 * MIB;
/** Shortest pause that counts as a baseline: a busy machine has none as short. */
const LEAST_GAP_MS = 5;
const GAP_RATIO = 10;
/** Of the time that ordinary programs take before it, in the same engine pool. */
const NEXT_RATIO = 3;
const OVER_RATIO = 2;
const WATCHED_MS = 500;
/** Of the time that it is watched, which an engine that goes on takes whole. It is read in ticks of 10 ms, of each engine. */
const CPU_AFTER_RATIO = 0.2;
const TIMEOUT_MS = 300_000;
const ORDINARY = "const rows = await Promise.all([1, 2, 3].map((id) => tools.read({ id }))); return rows[2].name;";

const sandbox = createIsolateSandbox();
const log = new HostileLog();
const figures = new FigureTable();
let runtime: Runtime;

beforeAll(async () => {
  makeLargeResults();
  runtime = await log.open(sandbox);
  for (let run = 0; run < 20; run += 1) await runtime.execute(ORDINARY);
});

afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
  process.stdout.write(`\n${figures.text}\n`);
});

describe("what a hostile program costs the host, beside ordinary programs of the same minute", () => {
  const attacks = readAttacks().filter(({ kind }) => kind === "program");
  test.each(titled(attacks))("%s", { timeout: TIMEOUT_MS }, async (_, attack) => {
    const ordinary = await ordinaryCost();
    const cost = await costOf(attack);
    const next = await ordinaryCost();
    figures.add(attack.name, { ...cost, nextMs: next.ms });
    expect.soft(cost.gapMs / Math.max(LEAST_GAP_MS, ordinary.gapMs), "pause of the host").toBeLessThan(GAP_RATIO);
    expect.soft(cost.keptBytes, "bytes that the host holds").toBeLessThan(KEPT_BYTES);
    expect.soft(cost.cpuAfterMs / WATCHED_MS, "processor time after the ending").toBeLessThan(CPU_AFTER_RATIO);
    expect.soft(cost.overMs / cost.allowedMs, "time from the limit to the ending").toBeLessThan(OVER_RATIO);
    expect.soft(next.ms / ordinary.ms, "time of the next program").toBeLessThan(NEXT_RATIO);
  });
});

async function costOf(attack: Attack) {
  const program = await programOf(attack);
  const before = memoryHeld();
  const { wallMs = 0, cpuMs: allowedMs = 0 } = limitsOf(attack);
  const watch = new HostWatch();
  const startedAt = performance.now();
  const { usage } = await log.hold(attack, runtime, program);
  const tookMs = performance.now() - startedAt - usage.queuedMs;
  const cost = watch.stop();
  const overMs = Math.max(tookMs - usage.waitingMs - allowedMs, tookMs - wallMs);
  const engines = enginesOf(process.pid);
  const cpuBefore = engines.map(cpuMs);
  await sleep(WATCHED_MS);
  const cpuAfterMs = engines.reduce((sum, pid, index) => sum + Math.max(0, cpuMs(pid) - (cpuBefore[index] ?? 0)), 0);
  return {
    ...cost,
    overMs,
    allowedMs: Math.min(wallMs, allowedMs),
    keptBytes: growthOf(before, memoryHeld()),
    cpuAfterMs,
  };
}

/** The middle time of a few ordinary programs, each of which is right, and the longest pause of the host meanwhile. */
async function ordinaryCost() {
  const watch = new HostWatch();
  const times: number[] = [];
  for (let run = 0; run < 5; run += 1) {
    const startedAt = performance.now();
    expect((await runtime.execute(ORDINARY)).outcome).toEqual({ type: "completed", value: "row 3" });
    times.push(performance.now() - startedAt);
  }
  return { ms: times.toSorted((one, other) => one - other)[2] ?? 0, gapMs: watch.stop().gapMs };
}
