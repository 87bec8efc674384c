import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createRuntime, type ExecutionEvent, type Report, type Runtime } from "../src/index.ts";
import { createIsolateSandbox } from "../src/sandboxes/index.ts";
import { parentDeathCommand } from "../src/sandboxes/isolate/parent-death.ts";
import { createMemorySandbox } from "../src/testing.ts";
import {
  type Attack,
  endsAsDeclared,
  guestOf,
  programOf,
  chosenAttacks,
  readAttacks,
} from "./hostile-support/attacks.ts";
import { type Cost, gapCosts, holdToPromise } from "./hostile-support/costs.ts";
import { cpuMs, enginesOf } from "./hostile-support/engines.ts";
import { FigureTable } from "./hostile-support/figures.ts";
import { NotedJournal } from "./hostile-support/noted-journal.ts";
import { forbiddenRuns, HOST_SECRET, HOSTILE_TOOLS, makeLargeResults } from "./hostile-support/tools.ts";
import { slowness } from "./support/slowness.ts";
import { growthOf, type HostCost, HostWatch, type MemoryHeld, memoryHeld } from "./hostile-support/watch.ts";

const MIB = 1024 * 1024;
/** A machine that gives a program less than a fifth of a core would stop by the clock what is to be stopped by its processor time. */
const LIMITS = { memoryBytes: 64 * MIB, runningMs: 1000, wallMs: Math.ceil(5000 * slowness("clock")) };
/** Of an attack that only the clock can stop: the longer it runs, the longer it hangs. */
const HANGING_MS = Math.round(LIMITS.wallMs * 0.4);

/** Time from a limit to its ending. */
const OVER_MS = 1000;
const KEPT_BYTES = 64 * MIB;
/**
 * Of resident memory: what is held, as much again of what is on its way, and garbage that V8 has not collected yet. V8 lets
 * the heap grow to four times of what lived in it after the last collection before it collects all again. SECURITY.md promises
 * what is held alone, which host-memory.machine.test.ts measures.
 */
const PEAK_BYTES = 4 * KEPT_BYTES;
const HEAP_GROWTH = 4;
const peakBytesFor = (usedBytes: number) => Math.max(PEAK_BYTES, KEPT_BYTES + (HEAP_GROWTH - 1) * usedBytes);
const CPU_AFTER_MS = 50;
/** How long engines are watched after an attack. */
const WATCHED_MS = 1000;
/** How long no engine of a host that was killed may be left. */
const ORPHAN_MS = 2000;

const NEXT_RUNS = 5;
const NEXT_SLOWER = 3;
const NEXT_SLACK_MS = 20;
const ORDINARY = "const rows = await Promise.all([1, 2, 3].map((id) => tools.read({ id }))); return rows[2].name;";
const ORDINARY_TYPED = `const ids: number[] = [1, 2, 3];\n${ORDINARY}`;

/** Control characters but tab and line feed, and characters that turn or hide text. */
const UNSAFE_TEXT =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

/** Of an attack and of those before it, each of which may be made four times. */
const TIMEOUT_MS = 300_000;

/** So many attacks by programs there must be, and of all these classes. */
const PROGRAMS = 80;
const CLASSES = "calls cpu error escape input keep log memory microtask result settle source stream tamper trap".split(
  " ",
);

const attacks = chosenAttacks();
const figures = new FigureTable();
const events: ExecutionEvent[] = [];
const journal = new NotedJournal();
/** Attacks are made one at a time, each in a house that nothing else is done in until it has been watched for a second. */
const inTurn = oneAtATime();
const HOUSES = 4;
const houses: House[] = [];
const free: House[] = [];
const waiting: ((house: House) => void)[] = [];
let heldBefore: MemoryHeld;

beforeAll(async () => {
  makeLargeResults();
  for (let number = 0; number < HOUSES; number += 1) {
    const house = await openHouse(number);
    houses.push(house);
    free.push(house);
    for (let run = 0; run < 20 / HOUSES; run += 1) await house.runtime.execute(ORDINARY);
  }
  heldBefore = memoryHeld();
});

afterAll(async () => {
  for (const { runtime, sandbox } of houses) {
    await runtime[Symbol.asyncDispose]();
    await sandbox[Symbol.asyncDispose]();
  }
  process.stdout.write(`\n${figures.text}\n`);
});

test("there are programs of every class", () => {
  const programs = readAttacks().filter(({ kind }) => kind === "program");
  expect(programs.length).toBeGreaterThanOrEqual(PROGRAMS);
  expect(new Set(programs.map(({ name }) => name.split("-", 1)[0]))).toEqual(new Set(CLASSES));
});

describe.concurrent("a hostile program", () => {
  test.each(titled("program"))("%s", { timeout: TIMEOUT_MS }, async (_, attack) => {
    const program = await inTurn(() => programOf(attack));
    await judge(attack, (house) => ({ ...house, program }));
  });
});

describe("a guest that forges frames", () => {
  test.each(titled("frames"))("%s", { timeout: TIMEOUT_MS }, async (_, attack) => {
    await using sandbox = createMemorySandbox({ guest: await guestOf(attack) });
    await using runtime = await openRuntime(sandbox);
    events.length = 0;
    journal.kinds.length = 0;
    // What it costs the host is measured on a pipe: here the guest is the host.
    expectTruth(attack, await run(attack, runtime, "return 1;"));
  });
});

describe.concurrent("a guest that forges frames on a pipe", () => {
  const script = fileURLToPath(new URL("hostile-support/frames-engine.ts", import.meta.url));
  // Waiting for the longest limit is no other on a pipe.
  const soon = titled("frames").filter(([, { endings }]) => !endings.includes("stopped wallMs"));
  test.each(soon)("%s", { timeout: TIMEOUT_MS }, async (_, attack) => {
    await judgeEngine(attack, [script, attack.path]);
  });
});

describe.concurrent("an engine that was taken over", () => {
  test.each(titled("engine"))("%s", { timeout: TIMEOUT_MS }, async (_, attack) => {
    await judgeEngine(attack, [attack.path]);
  });
});

describe("a host that is killed in the middle of attacks leaves no engine behind", () => {
  test.each(["kernel", "watch"])("where engines learn of it by way of: %s", { timeout: TIMEOUT_MS }, async (mode) => {
    const script = fileURLToPath(new URL("hostile-support/host-under-attack.ts", import.meta.url));
    const host = spawn(process.execPath, [script, mode], { stdio: ["ignore", "inherit", "inherit"] });
    const pid = host.pid ?? 0;
    await busyEngines(host, 3);
    host.kill("SIGKILL");
    const killedAt = performance.now();
    await once(host, "exit");
    await vi.waitFor(() => expect(enginesOf(pid)).toEqual([]), { timeout: ORPHAN_MS, interval: 20 });
    process.stdout.write(
      `engines left by way of ${mode}: none after ${(performance.now() - killedAt).toFixed(0)} ms\n`,
    );
  });
});

test("all attacks together have not made the host grow by more than one may", () => {
  const held = memoryHeld();
  process.stdout.write(`held before and after all attacks: ${JSON.stringify([heldBefore, held])}\n`);
  // Of resident memory V8 keeps what it once needed: a thousand ordinary calls make it grow by more than this.
  expect((held.usedBytes - heldBefore.usedBytes) / MIB).toBeLessThanOrEqual(KEPT_BYTES / MIB);
});

/** Runs what it is given one after the other. */
function oneAtATime() {
  let last: Promise<unknown> = Promise.resolve();
  return <Value>(work: () => Promise<Value>): Promise<Value> => {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  };
}

function titled(kind: Attack["kind"]): [string, Attack][] {
  return attacks
    .filter((attack) => attack.kind === kind)
    .map((attack) => [
      `${attack.name} tries ${attack.tries.replace(/^to (.*)\.$/, "to $1")}, and ends ${attack.endings.join(" or ")}`,
      attack,
    ]);
}

function openRuntime(sandbox: ReturnType<typeof createMemorySandbox>): Promise<Runtime> {
  return createRuntime({
    tools: HOSTILE_TOOLS,
    sandbox,
    journal,
    limits: LIMITS,
    onEvent: (event) => events.push(event),
  });
}

/** Serves programs among the attacks, and, after each attack of any kind, ordinary ones. */
interface House {
  readonly runtime: Runtime;
  readonly sandbox: ReturnType<typeof createIsolateSandbox>;
  /** Stands in the command line of each of its engines. */
  readonly mark: string;
}

async function openHouse(number: number): Promise<House> {
  const { prefix, ...command } = parentDeathCommand();
  // An option that changes nothing here.
  const mark = `--disable-warning=house-${number}`;
  const sandbox = createIsolateSandbox({ command: { ...command, prefix: [...prefix, mark] } });
  return { runtime: await openRuntime(sandbox), sandbox, mark };
}

/** What runs an attack, and what stands in the command line of the engines that it runs in. */
interface Attacked {
  readonly runtime: Runtime;
  readonly mark: string;
  readonly program: string;
}

/** Runs an attack in an engine that is started as `node` with these arguments. */
async function judgeEngine(attack: Attack, prefix: readonly string[]): Promise<void> {
  const command = { command: process.execPath, prefix, mode: "watch" } as const;
  await using stack = new AsyncDisposableStack();
  const attacked = await inTurn(async (): Promise<Attacked> => {
    const sandbox = stack.use(createIsolateSandbox({ warm: 1, engines: 1, command }));
    const runtime = stack.use(await openRuntime(sandbox));
    return { runtime, mark: attack.path, program: "return 1;" };
  });
  await judge(attack, () => attacked);
}

/** Holds an attack, and what comes after it, to everything that is promised of hostile programs. */
async function judge(attack: Attack, attackedIn: (house: House) => Attacked): Promise<void> {
  const house = free.shift() ?? (await new Promise<House>((resolve) => waiting.push(resolve)));
  try {
    await holdToPromise(attack.name, () => runAttack(attack, house, attackedIn(house)));
  } finally {
    const next = waiting.shift();
    if (next) next(house);
    else free.push(house);
  }
}

async function runAttack(attack: Attack, house: House, attacked: Attacked): Promise<readonly Cost[]> {
  const { ran, before, keptBytes, usedBytes, left } = await inTurn(() => makeAttack(attack, house, attacked));
  const { cost, overMs } = ran;
  const cpuAfterMs = left.length === 0 ? 0 : await cpuInNextSecond(left);
  const nextMs = await inTurn(() => ordinaryMs(attack, house));

  figures.add(attack.name, { overMs, ...cost, keptBytes, cpuAfterMs, nextMs });
  return [
    {
      of: "ms from the limit to the ending",
      value: overMs,
      most: overMs > OVER_MS ? OVER_MS * slowness("clock") : OVER_MS,
    },
    ...gapCosts(cost),
    { of: "MiB the host has grown by", value: keptBytes / MIB, most: KEPT_BYTES / MIB },
    { of: "MiB the host grew by meanwhile", value: cost.peakBytes / MIB, most: peakBytesFor(usedBytes) / MIB },
    { of: "ms of processor time in the second after", value: cpuAfterMs, most: CPU_AFTER_MS },
    { of: "ms of the next program", value: nextMs, most: before * NEXT_SLOWER + NEXT_SLACK_MS * slowness("clock") },
  ];
}

async function makeAttack(attack: Attack, house: House, { runtime, mark, program }: Attacked) {
  const before = await ordinaryMs(attack, house);
  await idleEngines(house);
  const memoryBefore = memoryHeld();
  const engines = enginesOf(process.pid, mark);
  events.length = 0;
  journal.kinds.length = 0;

  const ran = await run(attack, runtime, program);
  expectTruth(attack, ran);
  const now = enginesOf(process.pid, mark);
  const gone = engines.filter((pid) => !now.includes(pid));
  // An engine that was attacked and has gone takes no time, and that in its place has not been attacked.
  const left = engines.length === 0 || gone.length > ran.report.usage.restarts ? [] : now;
  // One collection leaves no less than all of them do: what is within the bound after it needs no others.
  let keptBytes = growthOf(memoryBefore, memoryHeld("regular"));
  if (keptBytes > KEPT_BYTES) keptBytes = growthOf(memoryBefore, memoryHeld());
  if (keptBytes > KEPT_BYTES) {
    // Pages that are free are given back a little later.
    await sleep(WATCHED_MS);
    keptBytes = growthOf(memoryBefore, memoryHeld());
  }
  return { ran, before, keptBytes, usedBytes: memoryBefore.usedBytes, left };
}

interface Ran {
  readonly report: Report;
  readonly cost: HostCost;
  /** Time from the limit that was reached, or could have been, to the ending. */
  readonly overMs: number;
}

async function run({ endings }: Attack, runtime: Runtime, program: string): Promise<Ran> {
  const wallMs = endings.join() === "stopped wallMs" ? HANGING_MS : LIMITS.wallMs;
  const watch = new HostWatch();
  const startedAt = performance.now();
  try {
    const report = await runtime.execute(program, { limits: { wallMs } });
    const tookMs = performance.now() - startedAt - report.usage.queuedMs;
    const overMs = Math.max(tookMs - report.usage.waitingMs - LIMITS.runningMs, tookMs - wallMs);
    return { report, overMs, cost: watch.stop() };
  } finally {
    watch.stop();
  }
}

/** What holds of an ending, whatever it cost. */
function expectTruth(attack: Attack, { report }: Ran): void {
  expectDeclared(attack, report);
  expectNothingOfHost(report);
  expectOneEnding(report);
  for (const kind of attack.records) expect(journal.kinds).toContain(kind);
}

/** Processor time that engines take in the second from now on; those that have gone take none. */
async function cpuInNextSecond(engines: readonly number[]): Promise<number> {
  const before = engines.map(cpuMs);
  await sleep(WATCHED_MS);
  return engines.map((pid, index) => cpuMs(pid) - (before[index] ?? 0)).reduce((sum, ms) => sum + ms, 0);
}

function expectDeclared(attack: Attack, { outcome, usage }: Report): void {
  expect(endsAsDeclared(attack, outcome), `ended otherwise: ${JSON.stringify(outcome).slice(0, 500)}`).toBe(true);
  if (outcome.type === "stopped") {
    expect(outcome.seen).toBeGreaterThanOrEqual(outcome.allowed);
    if (outcome.limit === "runningMs") expect(usage.runningMs).toBeGreaterThanOrEqual(LIMITS.runningMs);
  }
  expect(forbiddenRuns).toEqual([]);
  for (const [tool, runs] of attack.runs) expect({ [tool]: startedCalls(tool) }).toEqual({ [tool]: runs });
}

function startedCalls(tool: string): number {
  return events.filter((event) => event.type === "call_started" && event.tool === tool).length;
}

/** How an engine died is for the operator, and may hold what the engine said. */
function expectNothingOfHost({ output, outcome, logs, notes, remarks, calls }: Report): void {
  const told = JSON.stringify({
    output,
    outcome: outcome.type === "crashed" ? outcome.code : outcome,
    logs,
    notes,
    remarks,
    calls,
  });
  for (const secret of [HOST_SECRET, process.cwd(), process.env.PATH ?? HOST_SECRET, "node:internal"])
    expect(told).not.toContain(secret);
  expect(output.text).not.toMatch(UNSAFE_TEXT);
}

/** A program that cannot be read is told so before there is an execution to record. */
function expectOneEnding({ usage, outcome }: Report): void {
  const ends = events.filter(({ type }) => type === "execution_ended").length;
  if (ends === 0) expect({ type: outcome.type, turns: usage.turns }).toEqual({ type: "failed", turns: 0 });
  expect(ends).toBeLessThanOrEqual(1);
  expect(journal.kinds.flatMap((kind, index) => (kind === "outcome" ? [index] : []))).toEqual(
    ends === 0 ? [] : [journal.kinds.length - 1],
  );
}

/** Waits until engines enough stand idle that none will be started meanwhile, and none is being started or prepared. */
async function idleEngines({ sandbox }: House): Promise<void> {
  await sandbox.warm?.();
  await vi.waitFor(() => expect(sandbox.pool.counts.idle).toBe(sandbox.pool.counts.engines), {
    timeout: 20_000,
    interval: 5,
  });
}

/** Middle time of a few ordinary programs, each of which must be right. What reads programs is tried too where it was attacked. */
async function ordinaryMs({ name }: Attack, { runtime }: House): Promise<number> {
  const program = name.startsWith("source-") ? ORDINARY_TYPED : ORDINARY;
  const times: number[] = [];
  for (let run = 0; run < NEXT_RUNS; run += 1) {
    const startedAt = performance.now();
    const { outcome } = await runtime.execute(program);
    times.push(performance.now() - startedAt);
    expect(outcome).toEqual({ type: "completed", value: "row 3" });
  }
  return times.toSorted((one, other) => one - other)[Math.floor(NEXT_RUNS / 2)] ?? 0;
}

/** Waits until so many engines of a host have got into their work. */
async function busyEngines(host: ChildProcess, count: number): Promise<void> {
  const isBusy = (pid: number) => cpuMs(pid) > 500;
  await vi.waitFor(
    () => {
      if (host.exitCode !== null) throw new Error(`the host ended with ${host.exitCode}`);
      expect(enginesOf(host.pid ?? 0).filter(isBusy).length).toBeGreaterThanOrEqual(count);
    },
    { timeout: 30_000, interval: 50 },
  );
}
