import { array, assert, asyncProperty, constantFrom } from "fast-check";
import { expect, test } from "vitest";
import { createMemoryJournal, type JournalRecord } from "../../src/journal/index.ts";
import { createSqliteJournal, type Report, type ExecutionEvent, createRuntime } from "../../src/index.ts";
import { replay } from "../../src/executions/replay.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import type { Offer, Sandbox } from "../../src/sandboxes/sandbox.ts";
import { call, guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
import { evicting, type EvictionMoment } from "../support/evicting-sandbox.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { describeOfAll, echo, holding, later, pay, runs, signal, testOfAll, tool } from "../support/index.ts";
import { executeSuite } from "./execute.suite.ts";
import { manualClock, patientClock, workingClock } from "../support/clock.ts";

describeOfAll("evicted at every wait, programs in JavaScript do", () => {
  const sandbox = evicting(createMemorySandbox());
  executeSuite("javascript", sandbox);
});

describeOfAll.skipIf(PYTHON.missing)("evicted at every wait, programs in Python do", () => {
  const sandbox = evicting(createForkedPythonSandbox());
  executeSuite("python", sandbox);
});

/** Programs whose journal does not depend on when their calls are answered. */
const PROGRAMS = [
  `let sum = 0;
for (let n = 0; n < 6; n += 1) {
  sum += (await tools.echo({ n })).n;
  console.log("so far", sum);
}
return sum;`,
  `const all = await Promise.all([1, 2, 3, 4].map((n) => tools.inTurn({ n })));
console.log(all.length);
return all.map(({ n }) => n * 10);`,
  `try {
  await tools.echo({ n: 1 });
  await tools.missing({});
} catch (error) {
  console.error(error.name);
}
await new Promise((resolve) => setTimeout(resolve, 3));
const id = crypto.randomUUID().length + Math.floor(Math.random() * 0);
return (await tools.inTurn({ n: id })).n;`,
  `for (let n = 0; n < 300; n += 1) console.log("line", n, "x".repeat(50));
const first = tools.inTurn({ n: 1 });
await tools.echo({ n: 2 });
throw new Error(String((await first).n));`,
] as const;

/** Answers in the order of its calls. */
function inTurn() {
  let last: Promise<unknown> = Promise.resolve();
  return tool("inTurn", (input) => {
    const answered = last.then(() => new Promise((resolve) => setImmediate(resolve))).then(() => input);
    last = answered;
    return answered;
  });
}

async function run(sandbox: Sandbox, program: string, journal = createMemoryJournal()) {
  await using runtime = await createRuntime({ tools: [echo, inTurn()], sandbox, journal, onEvent: () => {} });
  const printed: string[] = [];
  const report = await runtime.execute(program, {
    onEvent: (event) => event.type === "output" && printed.push(event.text),
  });
  const kept = await Promise.all((report.artifacts ?? []).map(({ read }) => read()));
  return { report, kept, printed, records: await Array.fromAsync(runtime.journal.read(report.execution)) };
}

/** What does not depend on the clock, the seed and the machine. */
function comparable({ report, kept, printed, records }: Awaited<ReturnType<typeof run>>) {
  const { execution, usage, calls, artifacts, ...rest } = report;
  const { turns, restarts, calls: made, bytesIn, bytesSeen, bytesOut } = usage;
  return {
    rest,
    artifacts: artifacts?.map(({ name, bytes, shape }) => [name, bytes, shape]),
    kept,
    printed,
    usage: { turns, restarts, made, bytesIn, bytesSeen, bytesOut },
    calls: inOrder(calls.map(({ callId, tool: name, outcome, bytes }) => [callId, name, bytes, outcome.type])),
    // Which of several answers is there first is the host's business.
    turns: inOrder(records.flatMap((record) => (record.type === "turn" ? [withoutClock(record)] : []))),
    others: inOrder(records.map(({ type }) => type)),
    execution: execution.length,
  };
}

function inOrder(values: readonly unknown[]): readonly string[] {
  return values.map((value) => JSON.stringify(value)).toSorted((one, other) => (one < other ? -1 : 1));
}

function withoutClock({ event, commands }: Extract<JournalRecord, { type: "turn" }>): readonly string[] {
  const [head = ""] = event
    .replace(/"now":\d+/, "")
    .replace(/"seed":"\w+"/, "")
    .split("\n");
  return [head.replace(/"id":\d+/, ""), ...commands];
}

test(
  "at whatever turn a program is evicted, its report, its journal and its output are the same",
  { timeout: 120_000 },
  async () => {
    const expected = await Promise.all(
      PROGRAMS.map(async (program) => comparable(await run(createMemorySandbox(), program))),
    );
    const moments = array(constantFrom<EvictionMoment>("now", "soon", "later", "never"), {
      minLength: 1,
      maxLength: 12,
    });
    await assert(
      asyncProperty(moments, constantFrom(...PROGRAMS.keys()), async (schedule, index) => {
        const sandbox = evicting(createMemorySandbox(), (offer) => schedule[offer % schedule.length] ?? "never");
        const ran = await run(sandbox, PROGRAMS[index] ?? "");
        expect(comparable(ran)).toEqual(expected[index]);
        expect(ran.report.usage.evictions).toBe(sandbox.evicted());
        expect(sandbox.opened).toHaveLength(1 + sandbox.evicted());
        expect(await replay(() => ran.records, createMemorySandbox(), new AbortController().signal)).toEqual({
          type: "identical",
        });
      }),
      { numRuns: runs(60) },
    );
  },
);

const CALL = (id: number, name = "hold") => call(id, name);
const TURN_END = turnEnd(1);
const SETTLED = settled('"done"');

/** Guests that say these frames to their events, after what `run` does; it may throw, which ends the guest. */
function scripted(
  turns: readonly (readonly string[])[],
  run: (guest: number, turn: number) => void = () => {},
): Sandbox {
  let guests = 0;
  const guest = () => {
    const number = guests++;
    const sayings = turns.map((said, turn) => () => {
      run(number, turn);
      return said;
    });
    return guestThatSays([READY], ...sayings);
  };
  return createMemorySandbox({ guest });
}

/** Resolves once the program has given its guest up. */
async function isEvicted(sandbox: ReturnType<typeof evicting>, times = 1): Promise<void> {
  while (sandbox.evicted() < times) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
}

test("a program that cannot be replayed keeps its guest, and its usage says why", async () => {
  const turns = [['{"kind":"unreplayable","cause":"network"}', CALL(1), TURN_END], [SETTLED]];
  const sandbox = evicting(scripted(turns));
  const { hold, called, release } = holding();
  await using runtime = await createRuntime({ tools: [hold], sandbox });
  const running = runtime.execute("unused");
  await called;
  release();
  const { usage, outcome } = await running;
  expect(outcome).toEqual({ type: "completed", value: "done" });
  expect([usage.evictions, usage.notEvicted, sandbox.evicted()]).toEqual([0, "network", 0]);
});

test("a program that cannot be replayed ends if another tenant takes its guest, and one that takes much memory goes on", async () => {
  const taken = () =>
    evicting(
      scripted([['{"kind":"unreplayable","cause":"network"}', CALL(1), TURN_END], [SETTLED]]),
      undefined,
      "others",
    );
  const { hold, release } = holding();
  await using runtime = await createRuntime({ tools: [hold], sandbox: taken() });
  expect((await runtime.execute("unused")).outcome).toMatchObject({
    type: "crashed",
    code: "engine_died",
    detail: expect.stringMatching(/another tenant's program needed its engine.*network/) as string,
  });
  const large = evicting(scripted([[CALL(1), TURN_END], [SETTLED]]), undefined, "others");
  const open: Sandbox["open"] = async (options, abort) => {
    const guest = await large.open(options, abort);
    guest.usage = () => ({ peakMemoryBytes: 1e9, processorMs: undefined });
    return guest;
  };
  await using other = await createRuntime({ tools: [hold], sandbox: { ...large, open } });
  const running = other.execute("unused");
  await isEvicted(large);
  release();
  const { outcome, usage } = await running;
  expect([outcome, usage.evictions, usage.notEvicted]).toEqual([{ type: "completed", value: "done" }, 1, "memory"]);
});

test("all waits in its guest count against a program, however short each is", async () => {
  const clock = manualClock();
  const calls = Array.from({ length: 4 }, (_, index) => [CALL(index + 1, "slow"), TURN_END]);
  const offers: Offer[] = [];
  const slow = tool("slow", async () => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    clock.pass(100);
    return 1;
  });
  for (const first of [[], ['{"kind":"unreplayable","cause":"network"}']]) {
    const turns = [[...first, ...(calls[0] ?? [])], ...calls.slice(1), [SETTLED]];
    const sandbox = evicting(scripted(turns), (_, offer) => (offers.push(offer), "never"), "others");
    await using runtime = await createRuntime({ tools: [slow], sandbox, limits: { cpuMs: 1000 } });
    await runtime.execute("unused");
  }
  const [cheap, lost] = [offers.slice(0, 4), offers.slice(4)];
  expect(cheap.map(({ othersMs }) => Math.round(othersMs))).toEqual([0, -100, -200, -300]);
  expect(lost.map(({ othersMs }) => othersMs)).toEqual([1000, 900, 800, 700]);
  expect(lost.every(({ ownMs, othersMs, lostMs }) => ownMs === Number.POSITIVE_INFINITY && othersMs === lostMs)).toBe(
    true,
  );
});

test("a program keeps its guest from others for as long as its replay takes, or as it may run if its replays do not fit into that", async () => {
  const clock = manualClock();
  const offers: Offer[] = [];
  const turns = [1, 2].map((id) => [CALL(id, "echo"), TURN_END]);
  const sandbox = evicting(
    scripted([...turns, [SETTLED]], () => clock.block(300)),
    (_, offer) => (offers.push(offer), "never"),
    "others",
  );
  await using runtime = await createRuntime({ tools: [echo], sandbox, limits: { cpuMs: 1000 } });
  const { usage } = await runtime.execute("unused");
  expect(offers.map(({ othersMs }) => Math.round(othersMs))).toEqual([300, 1000]);
  expect(offers.map(({ ownMs }) => ownMs)).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
  expect(usage.notEvicted).toBe("replay");
});

test("a cancelled program that has no guest gets one for its last words", async () => {
  const sandbox = evicting(createMemorySandbox());
  const { hold, called } = holding();
  await using runtime = await createRuntime({ tools: [hold], sandbox });
  const cancel = new AbortController();
  const program = `console.log("hello");
try { await tools.hold({}); } finally { console.log("goodbye"); }`;
  const running = runtime.execute(program, { signal: cancel.signal });
  await called;
  await isEvicted(sandbox);
  patientClock();
  cancel.abort();
  const { outcome, logs, usage } = await running;
  expect(outcome).toEqual({ type: "cancelled" });
  expect(logs.text).toBe("hello\ngoodbye\n");
  expect(usage.evictions).toBe(1);
});

/** A sandbox that has a first guest, and others once it is told to. */
function withOneGuest() {
  const inner = evicting(createMemorySandbox());
  const free = signal();
  const guests = { opened: 0 };
  const open: Sandbox["open"] = async (options, abort) => {
    guests.opened += 1;
    if (guests.opened > 1) {
      const { promise, reject } = Promise.withResolvers<never>();
      abort.addEventListener("abort", () => reject(abort.reason as Error));
      await Promise.race([free.happened, promise]);
    }
    return inner.open(options, abort);
  };
  return { inner, guests, free, sandbox: { ...inner, open } };
}

test("a cancelled program that gets no guest ends all the same", async () => {
  const { inner, sandbox } = withOneGuest();
  const { hold, called } = holding();
  await using runtime = await createRuntime({ tools: [hold], sandbox });
  const cancel = new AbortController();
  const running = runtime.execute("await tools.hold({});", { signal: cancel.signal });
  await called;
  await isEvicted(inner);
  cancel.abort();
  expect((await running).outcome).toEqual({ type: "cancelled" });
});

test("time without a guest is not counted in wallMs, and a program that gets none within queueMs reports what it has done", async () => {
  const { inner, guests, free, sandbox } = withOneGuest();
  await using runtime = await createRuntime({
    tools: [tool("pay", (input) => input, { effect: "write" })],
    sandbox,
    limits: { wallMs: 400 },
  });
  const program = "await tools.pay({}); return 1;";
  const late = await runtime.execute(program, { limits: { queueMs: 600 } });
  expect(late.outcome).toEqual({ type: "stopped", limit: "queueMs", allowed: 600, seen: 600 });
  expect(late.output.text).toContain("It had begun");
  expect(late.output.text).toContain("Already done, and not undone: pay.");

  guests.opened = 0;
  const { work } = workingClock();
  const running = runtime.execute(program);
  await isEvicted(inner, 2);
  work(600);
  free.happen();
  const { outcome, usage } = await running;
  expect(outcome).toEqual({ type: "completed", value: 1 });
  expect(usage.queuedMs).toBeGreaterThan(400);
  expect(usage.waitingMs).toBeLessThan(400);
});

test("a program without a guest is stopped by wallMs", async () => {
  const sandbox = evicting(createMemorySandbox());
  const { hold } = holding();
  await using runtime = await createRuntime({ tools: [hold], sandbox, limits: { wallMs: 300 } });
  const { outcome, usage } = await runtime.execute("await tools.hold({});");
  expect(outcome).toMatchObject({ type: "stopped", limit: "wallMs" });
  expect(usage.evictions).toBe(1);
});

test("an engine that dies while it replays an evicted program is replaced", async () => {
  const turns = [[CALL(1, "later"), TURN_END], [CALL(2, "later"), TURN_END], [SETTLED]];
  const sandbox = evicting(
    scripted(turns, (guest, turn) => {
      if (guest === 1 && turn === 0) throw new Error("the machine took it");
    }),
  );
  await using runtime = await createRuntime({ tools: [later], sandbox });
  const { outcome, usage } = await runtime.execute("unused");
  expect(outcome).toEqual({ type: "completed", value: "done" });
  expect([usage.evictions, usage.restarts]).toEqual([2, 1]);
});

test("a program that was evicted ends when its sandbox is closed", async () => {
  const sandbox = evicting(createMemorySandbox());
  const { hold, called } = holding();
  await using runtime = await createRuntime({ tools: [hold], sandbox });
  const running = runtime.execute("await tools.hold({});");
  await called;
  await isEvicted(sandbox);
  await sandbox[Symbol.asyncDispose]();
  expect((await running).outcome).toMatchObject({ type: "crashed", code: "engine_died" });
});

test("an evicted program whose calls all wait for decisions is left, and goes on later", async () => {
  const sandbox = evicting(createMemorySandbox());
  const asked = signal();
  const journal = createSqliteJournal({ path: ":memory:" });
  const answered = signal();
  await using runtime = await createRuntime({
    tools: [pay, echo],
    sandbox,
    journal,
    approve: async () => {
      asked.happen();
      await answered.happened;
      return "later" as const;
    },
  });
  const running = runtime.execute("await tools.echo({}); return tools.pay({});", { id: "one" });
  await asked.happened;
  await isEvicted(sandbox, 2);
  answered.happen();
  expect((await running).outcome).toMatchObject({ type: "waiting" });
  await runtime.execution("one").decide({ "2": { allow: true } });
  const { outcome } = await runtime.execution("one").resume();
  expect(outcome).toEqual({ type: "completed", value: "paid" });
  expect((await Array.fromAsync(journal.read("one"))).filter(({ type }) => type === "restart")).toEqual([]);
});

testOfAll("programs give up their guests only while half of heldBytes is free", async () => {
  const sandbox = evicting(createMemorySandbox());
  const { hold, called, release } = holding();
  await using runtime = await createRuntime({ tools: [hold], sandbox, heldBytes: 16 * 1024 * 1024 });
  const running: Promise<Report>[] = [];
  // All of them are replayed at once in this process.
  const limits = { cpuMs: 120_000, wallMs: 240_000 };
  for (let count = 0; count < 250; count += 1) {
    const asked = signal();
    const onEvent = ({ type }: ExecutionEvent) => type === "call_started" && asked.happen();
    running.push(runtime.execute("return tools.hold({});", { onEvent, limits }));
    await asked.happened;
  }
  await called;
  const evicted = sandbox.evicted();
  expect(evicted).toBeGreaterThan(100);
  expect(evicted).toBeLessThan(180);
  release();
  for (const { outcome } of await Promise.all(running)) expect(outcome).toEqual({ type: "completed", value: "held" });
});
