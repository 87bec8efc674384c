import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { createRuntime, type Runtime } from "../../../src/index.ts";
import { createIsolateSandbox } from "../../../src/sandboxes/index.ts";
import { cpuMs } from "../../hostile-support/engines.ts";
import { ALL_TESTS } from "../../support/all-tests.ts";
import { enginesOf } from "../../support/engines.ts";
import { echo } from "../../support/tools.ts";
import { NEVER_ENDS_THE_TURN, SETTLES_FIRST } from "./going-on-programs.ts";

const MIB = 1024 * 1024;
/** How often each program that settles first is run, and each that does not. */
const [SETTLING_RUNS, ENDLESS_RUNS] = ALL_TESTS ? [4, 2] : [1, 1];

async function withRuntime(use: (runtime: Runtime) => Promise<void>): Promise<void> {
  await using sandbox = createIsolateSandbox({ engines: 2, warm: 1 });
  await using runtime = await createRuntime({
    tools: [echo],
    sandbox,
    limits: { memoryBytes: 32 * MIB, cpuMs: 200, queueMs: 10_000 },
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
          expect(outcome).toMatchObject({ type: "stopped", limit: "cpuMs" });
        }
        await expectQuiet(runtime);
      }),
  );
});
