import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { GateSession } from "../../src/gate/session.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";

const CALLS = 6;

afterEach(() => {
  vi.restoreAllMocks();
});

beforeEach(() => {
  // It runs once in a process.
  vi.resetModules();
});

/** Modules that have run nothing yet, and a sandbox for a runtime of theirs that can start guests ahead of need. */
async function unused() {
  const [{ createRuntime }, { warmUp }, { Gate }, session, { addSink }] = await Promise.all([
    import("../../src/runtime/create-runtime.ts"),
    import("../../src/runtime/warm-up.ts"),
    import("../../src/gate/gate.ts"),
    import("../../src/gate/session.ts"),
    import("../../src/gate/telemetry/sdk-switch.ts"),
  ]);
  const opened = vi.spyOn(Gate.prototype, "open");
  const called = vi.spyOn(session.GateSession.prototype, "call");
  return { createRuntime, warmUp, opened, called, addSink };
}

function warmedSandbox() {
  return { ...createMemorySandbox(), warm: async () => {} };
}

test("it makes its calls through the gate, once in a process, and leaves nothing in a runtime", async () => {
  const { createRuntime, warmUp, opened, called, addSink } = await unused();
  const seen = vi.fn<(...args: unknown[]) => never>(() => {
    throw new Error("It must not be called.");
  });
  addSink({ note: seen });
  const options = {
    tools: [],
    onEvent: seen,
    logger: { error: seen, warn: seen },
    redact: seen,
    approve: seen,
    limits: { calls: 0 },
    executions: { atOnce: 1 },
  };
  await using runtime = await createRuntime({ ...options, sandbox: warmedSandbox() });
  expect(runtime.queue).toEqual({ running: 0, waiting: 0 });
  await warmUp();
  await using _ = await createRuntime({ ...options, sandbox: warmedSandbox() });
  await warmUp();
  const sessions = opened.mock.results.map(({ value }) => value as GateSession);
  expect(sessions.map(({ lines }) => lines.map(({ outcome }) => outcome.type))).toEqual([
    Array<string>(CALLS).fill("value"),
  ]);
  expect(called).toHaveBeenCalledTimes(CALLS);
  expect(await Array.fromAsync(runtime.executions())).toEqual([]);
  expect(runtime.queue).toEqual({ running: 0, waiting: 0 });
  expect(seen).not.toHaveBeenCalled();
});

test("a program ends it", async () => {
  const { createRuntime, warmUp, called } = await unused();
  await using runtime = await createRuntime({ tools: [], sandbox: warmedSandbox() });
  const { outcome } = await runtime.execute("return 1;");
  await warmUp();
  expect(outcome).toEqual({ type: "completed", value: 1 });
  expect(called.mock.calls.length).toBeLessThan(CALLS / 2);
});

test("nothing runs for a sandbox that starts no guests ahead of need, and after a program", async () => {
  const { createRuntime, warmUp, opened } = await unused();
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox() });
  expect(opened).not.toHaveBeenCalled();
  await runtime.execute("return 1;");
  await warmUp();
  expect(opened).toHaveBeenCalledTimes(1);
});

test("it ends, and rejects nothing, if the host has replaced its timers", async () => {
  const fixture = join(import.meta.dirname, "fixtures", "replaced-timers.ts");
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", fixture]);
  expect(stdout).toBe("ended");
});

test("it keeps no process that has closed its runtime", async () => {
  const fixture = join(import.meta.dirname, "fixtures", "closed-at-once.ts");
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", fixture]);
  expect(Number(stdout)).toBeLessThan(1000);
});
