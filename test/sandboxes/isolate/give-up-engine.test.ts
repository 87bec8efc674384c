import { expect, test } from "vitest";
import { createRuntime, type Report } from "../../../src/index.ts";
import { createIsolateSandbox, type IsolateSandboxOptions } from "../../../src/sandboxes/index.ts";
import { holding, signal, testOfAll, tool } from "../../support/index.ts";
import { enginesOf } from "../../support/engines.ts";

const PROGRAM = `let sum = 0;
for (let n = 0; n < 5; n += 1) {
  sum += (await tools.meet({ of: OF, n })).n;
  console.log("step", n, sum);
}
return sum + OF;`;
const programOf = (index: number) => PROGRAM.replaceAll("OF", String(index));

/** A tool that answers only once \`count\` calls of each step have come: so many programs wait at once. */
function meeting(count: number) {
  const steps = new Map<number, { missing: number; readonly all: ReturnType<typeof signal> }>();
  return tool("meet", async (input) => {
    const { n } = input as { readonly n: number };
    const step = steps.get(n) ?? { missing: count, all: signal() };
    steps.set(n, step);
    step.missing -= 1;
    if (step.missing === 0) step.all.happen();
    await step.all.happened;
    return { n: n * 2 };
  });
}

const withoutMeasures = ({ outcome, output, logs, notes, remarks, calls, usage }: Report) => ({
  outcome,
  output,
  logs,
  notes,
  remarks,
  calls: calls.map(({ callId, tool: name, bytes, outcome: end }) => ({ callId, name, bytes, end })),
  counts: [usage.calls, usage.turns, usage.restarts, usage.bytesIn, usage.bytesSeen, usage.bytesOut],
});

testOfAll.each<{
  readonly how: string;
  readonly programs: number;
  readonly tenants: number;
  readonly options: IsolateSandboxOptions;
}>([
  { how: "in engines that are used again", programs: 24, tenants: 1, options: {} },
  { how: "in engines that are used once", programs: 6, tenants: 1, options: { reuseEngines: "never" } },
  { how: "in engines of two tenants", programs: 16, tenants: 2, options: { perTenant: 2 } },
])(
  "more programs than engines all wait at once, and end as alone, $how",
  { timeout: 60_000 },
  async ({ programs, tenants, options }) => {
    // Its pool starts no spare engine while the engines of the other one are counted.
    await using single = createIsolateSandbox({ engines: 1, warm: 1 });
    await using alone = await createRuntime({ tools: [meeting(1)], sandbox: single });
    const expected: Report[] = [];
    for (let index = 0; index < programs; index += 1) expected.push(await alone.execute(programOf(index)));

    await using sandbox = createIsolateSandbox({ engines: 3, warm: 1, ...options });
    await using runtime = await createRuntime({ tools: [meeting(programs)], sandbox });
    const before = new Set(enginesOf());
    let most = 0;
    const onEvent = () => {
      most = Math.max(most, sandbox.pool.counts.engines);
    };
    const reports = await Promise.all(
      Array.from({ length: programs }, (_, index) =>
        runtime.execute(programOf(index), { tenant: `t${index % tenants}`, onEvent }),
      ),
    );
    expect(reports.map(withoutMeasures)).toEqual(expected.map(withoutMeasures));
    // At each of the five meetings all but those in the engines have given theirs up.
    const evictions = reports.reduce((sum, { usage }) => sum + usage.evictions, 0);
    expect(evictions).toBeGreaterThanOrEqual(5 * (programs - 3));
    expect(most).toBe(3);
    expect(enginesOf().filter((pid) => !before.has(pid)).length).toBeLessThanOrEqual(3);
    expect(reports.every(({ usage }) => usage.notEvicted === undefined)).toBe(true);
  },
);

test("a handler that runs a program of its own needs no engine of its caller's", async () => {
  await using sandbox = createIsolateSandbox({ engines: 1, warm: 1 });
  const inner = tool("inner", async () => (await runtime.execute("return 40 + 2;")).output.text);
  await using runtime = await createRuntime({ tools: [inner], sandbox });
  const { outcome, usage } = await runtime.execute("return [await tools.inner({}), await tools.inner({})];");
  expect(outcome).toEqual({ type: "completed", value: ["42", "42"] });
  expect(usage.evictions).toBe(2);
});

/** A program of a tenant that waits until it is answered. */
async function startWaiting(runtime: Awaited<ReturnType<typeof createRuntime>>, tenant: string) {
  const called = signal();
  const running = runtime.execute("return tools.hold({});", {
    tenant,
    onEvent: ({ type }) => type === "call_started" && called.happen(),
  });
  await called.happened;
  return { running };
}

testOfAll(
  "programs that take much memory, and that wake each millisecond, keep no tenant from all engines",
  async () => {
    const { hold, release } = holding();
    await using sandbox = createIsolateSandbox({ engines: 2, warm: 1 });
    await using runtime = await createRuntime({ tools: [hold], sandbox, limits: { memoryBytes: 16 * 1024 * 1024 } });
    const programs = {
      large: "const all = new Uint8Array(12e6).fill(1); await tools.hold({}); return all.length;",
      awake: "const often = setInterval(() => {}, 1); await tools.hold({}); clearInterval(often); return 1;",
    };
    const waiting = Object.entries(programs).map(async ([tenant, program]) => {
      const called = signal();
      const onEvent = ({ type }: { readonly type: string }) => type === "call_started" && called.happen();
      const running = runtime.execute(program, { tenant, onEvent });
      await called.happened;
      return { running };
    });
    const open = await Promise.all(waiting);
    for (const tenant of ["new", "newer"])
      expect((await runtime.execute("return 1;", { tenant })).outcome).toEqual({ type: "completed", value: 1 });
    release();
    const reports = await Promise.all(open.map(({ running }) => running));
    expect(reports.map(({ outcome }) => outcome)).toEqual([
      { type: "completed", value: 12e6 },
      { type: "completed", value: 1 },
    ]);
  },
);

testOfAll("where engines take more than poolBytes, those of programs that wait are ended", async () => {
  const { hold, release } = holding();
  await using sandbox = createIsolateSandbox({ engines: 4, warm: 0, poolBytes: 1 });
  await using runtime = await createRuntime({ tools: [hold], sandbox });
  const waiting = [await startWaiting(runtime, "one"), await startWaiting(runtime, "one")];
  await expect.poll(() => sandbox.pool.counts.engines).toBe(0);
  release();
  for (const { running } of waiting) expect((await running).outcome).toEqual({ type: "completed", value: "held" });
});

testOfAll("with evict never a program keeps its engine while it waits", async () => {
  const { hold, release } = holding();
  await using sandbox = createIsolateSandbox({ engines: 1, warm: 1, evict: "never" });
  await using runtime = await createRuntime({ tools: [hold], sandbox, limits: { queueMs: 100 } });
  const { running } = await startWaiting(runtime, "one");
  expect((await runtime.execute("return 1;")).outcome).toMatchObject({ type: "stopped", limit: "queueMs" });
  release();
  expect((await running).usage.evictions).toBe(0);
});
