import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { createRuntime, type Runtime } from "../../../src/index.ts";
import { createIsolateSandbox } from "../../../src/sandboxes/index.ts";
import { cpuMs } from "../../hostile-support/engines.ts";
import { ALL_TESTS } from "../../support/all-tests.ts";
import { enginesOf } from "../../support/engines.ts";
import { echo } from "../../support/tools.ts";

const MIB = 1024 * 1024;
/** Keeps a turn going until its frames leave before the next event of the same batch is looked at. */
const WORKS = "for (let n = 0; n < 2e7; n += 1);";
/** How often each program that settles first is run, and each that does not. */
const [SETTLING_RUNS, ENDLESS_RUNS] = ALL_TESTS ? [4, 2] : [1, 1];
const LOOPS = "for (;;);";
const GROWS = "const kept = []; for (;;) kept.push(new Array(1e5).fill(kept.length));";
const TICKS = "(function again() { Promise.resolve().then(again); })();";

/** The second of two events that travel together does this, after the first has settled. */
const inTimer = (then: string) =>
  `return await new Promise((resolve) => { setTimeout(() => { resolve("done"); ${WORKS} }, 5); setTimeout(() => { ${then} }, 5); });`;
const inAnswer = (then: string) =>
  `return await Promise.race([tools.echo().then(() => { ${WORKS} return "done"; }), tools.echo().then(() => { ${then} })]);`;

const SETTLES_FIRST: Readonly<Record<string, string>> = {
  "loops in a timer of the same batch": inTimer(LOOPS),
  "loops in an answer of the same batch": inAnswer(LOOPS),
  "grows in a timer of the same batch": inTimer(GROWS),
  "grows in an answer of the same batch": inAnswer(GROWS),
  "queues microtasks for ever in a timer of the same batch": inTimer(TICKS),
  "chains promises for ever in an answer of the same batch": inAnswer(
    "for (;;) await null;".replace(/^/, "(async () => {") + "})();",
  ),
  "computes on as the loser of a race": inAnswer(
    "let sum = 0; for (let n = 0; n < 1e9; n += 1) sum += n % 7; return sum;",
  ),
};

const NEVER_ENDS_THE_TURN: Readonly<Record<string, string>> = {
  "queues microtasks for ever before it returns": `${TICKS} return 1;`,
  "leaves an async generator running":
    "(async () => { for await (const n of (async function* () { for (;;) yield 1; })()) n; })(); return 1;",
  "loops in a getter of what it returns": `return { get value() { ${LOOPS} } };`,
  "begins microtasks in a getter of what it returns": `return { get value() { ${TICKS} return 1; } };`,
  "begins microtasks in toJSON of what it returns": `return { toJSON() { ${TICKS} return 1; } };`,
  "loops in a finally behind its return": `try { return 1; } finally { ${LOOPS} }`,
  "loops in a generator's finally that nothing awaits": `const it = (async function* () { try { yield 1; } finally { for (;;) await null; } })(); await it.next(); it.return(); return 1;`,
  "loops in a thenable that it returns": `return { then(resolve) { resolve(1); ${LOOPS} } };`,
  "loops in the text of what it throws": `throw Object.assign(new Error(), { get message() { ${LOOPS} } });`,
};

async function withRuntime(use: (runtime: Runtime) => Promise<void>): Promise<void> {
  await using sandbox = createIsolateSandbox({ engines: 2, warm: 1 });
  await using runtime = await createRuntime({
    tools: [echo],
    sandbox,
    limits: { memoryBytes: 32 * MIB, runningMs: 200, queueMs: 10_000 },
  });
  await use(runtime);
}

/** Programs of the same tenant and of others are served, no engine uses a processor, and none has grown. */
async function expectQuiet(runtime: Runtime): Promise<void> {
  for (const tenant of ["hostile", "a", "b", "hostile"]) {
    const { outcome } = await runtime.execute("return (await tools.echo({ n: 1 })).n;", { tenant });
    expect(outcome).toEqual({ type: "completed", value: 1 });
  }
  let used = enginesCpuMs();
  await vi.waitFor(
    () => {
      const before = used;
      used = enginesCpuMs();
      expect(used - before).toBeLessThanOrEqual(10);
    },
    { timeout: 30_000, interval: 100 },
  );
  for (const pid of enginesOf()) expect(residentBytes(pid)).toBeLessThan(200 * MIB);
}

function enginesCpuMs(): number {
  return enginesOf().reduce((sum, pid) => sum + cpuMs(pid), 0);
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
}

describe("a program that goes on after it has settled ends with its engine, and no other program notices", () => {
  test.each(Object.entries(SETTLES_FIRST))("a program that %s", { timeout: 60_000 }, (_, program) =>
    withRuntime(async (runtime) => {
      for (let run = 0; run < SETTLING_RUNS; run += 1) {
        const { outcome } = await runtime.execute(program, { tenant: "hostile" });
        expect(outcome).toEqual({ type: "completed", value: "done" });
      }
      await expectQuiet(runtime);
    }),
  );

  test.each(Object.entries(NEVER_ENDS_THE_TURN))(
    "a program that %s has not settled",
    { timeout: 60_000 },
    (_, program) =>
      withRuntime(async (runtime) => {
        for (let run = 0; run < ENDLESS_RUNS; run += 1) {
          const { outcome } = await runtime.execute(program, { tenant: "hostile" });
          expect(outcome).toMatchObject({ type: "stopped", limit: "runningMs" });
        }
        await expectQuiet(runtime);
      }),
  );
});
