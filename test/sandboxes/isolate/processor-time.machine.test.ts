import { availableParallelism } from "node:os";
import { expect, test, vi } from "vitest";
import { createRuntime, defineTool, jsonSchema } from "../../../src/index.ts";
import { createIsolateSandbox } from "../../../src/sandboxes/index.ts";
import { EngineProcess } from "../../../src/sandboxes/isolate/engine-process.ts";
import { ProcessGauge } from "../../../src/sandboxes/isolate/process-gauges.ts";
import { slowness } from "../../support/slowness.ts";

const CORES = availableParallelism();
const COMPUTES = "let sum = 0; for (let n = 0; n < 1e8; n += 1) sum += n % 7; return sum > 0;";
const gauge = new ProcessGauge(process.pid, "processor");
const isTold = gauge.read() !== undefined;
gauge.close();

// Each core has eight engines here: without its processor time a program is charged for at least eight times as long as it
// ran alone. Caches that are cold, and cores that others take too, cost processor time as well.
test.skipIf(!isTold || CORES > 8)(
  "programs that share a core with many others are not charged for waiting for it",
  { timeout: 120_000 },
  async () => {
    const engines = CORES * 8;
    await using sandbox = createIsolateSandbox({ engines, warm: engines });
    await using runtime = await createRuntime({ tools: [], sandbox });
    const alone = await runtime.execute(COMPUTES);
    expect(alone.outcome).toEqual({ type: "completed", value: true });
    const limits = { cpuMs: Math.ceil(alone.usage.cpuMs * 6) };
    const reports = await Promise.all(Array.from({ length: engines }, () => runtime.execute(COMPUTES, { limits })));
    expect(reports.map(({ outcome }) => outcome)).toEqual(reports.map(() => ({ type: "completed", value: true })));
  },
);

test("a loop is stopped after cpuMs of processor time, and soon where nothing else runs", async () => {
  await using runtime = await createRuntime({ tools: [], limits: { cpuMs: 300 } });
  const { outcome, usage } = await runtime.execute("for (;;);");
  expect(outcome).toMatchObject({ type: "stopped", limit: "cpuMs", allowed: 300 });
  expect(usage.cpuMs).toBeLessThan(1000 * slowness("clock"));
});

test("the host reads the processor time of an engine at intervals, and not at each turn", async () => {
  const read = vi.spyOn(EngineProcess.prototype, "processorMs", "get");
  const ping = defineTool({
    name: "ping",
    description: "Answers.",
    inputSchema: jsonSchema({ type: "object" }),
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: () => 1,
  });
  await using runtime = await createRuntime({ tools: [ping] });
  const { outcome, usage } = await runtime.execute(
    "for (let n = 0; n < 500; n += 1) await tools.ping({}); return true;",
  );
  expect(outcome).toEqual({ type: "completed", value: true });
  expect(read.mock.calls.length).toBeLessThanOrEqual((usage.cpuMs + usage.waitingMs) / 10 + 1);
  read.mockRestore();
});
