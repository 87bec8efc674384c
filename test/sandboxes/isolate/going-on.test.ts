import { afterAll, expect, test } from "vitest";
import { createRuntime, type Limits } from "../../../src/index.ts";
import { createIsolateSandbox } from "../../../src/sandboxes/index.ts";
import { echo, someOf, tool } from "../../support/index.ts";
import { enginesOf } from "../../support/engines.ts";
import { NEVER_ENDS_THE_TURN, SETTLES_FIRST } from "./going-on-programs.ts";

const sandbox = createIsolateSandbox({ engines: 1, warm: 1 });
let engines: readonly number[] = [];
const look = tool("look", () => {
  engines = enginesOf();
});
const runtime = await createRuntime({ tools: [echo, look], sandbox });
afterAll(async () => {
  await runtime[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
});

/** An engine is one tenant's: that of the program that is served is the next one that is ended. */
let tenants = 0;
const SERVED = "return (await tools.echo({ n: 1 })).n;";

/** Runs a program, and sees its engine end and a program of another tenant run after it. */
async function endingOf(program: string, limits: Partial<Limits> = {}) {
  const { outcome } = await runtime.execute(`await tools.look({}); ${program}`, { tenant: String(tenants), limits });
  const [engine] = engines;
  expect(engine).toBeDefined();
  tenants += 1;
  const { outcome: served } = await runtime.execute(SERVED, { tenant: String(tenants) });
  expect(served).toEqual({ type: "completed", value: 1 });
  await expect.poll(() => enginesOf()).not.toContain(engine);
  return outcome;
}

test.each(someOf(Object.entries(SETTLES_FIRST), 1))(
  "a program that %s, and has settled before, is completed, and its engine ended",
  async (_, program) => expect(await endingOf(program)).toEqual({ type: "completed", value: "done" }),
);

test.each(someOf(Object.entries(NEVER_ENDS_THE_TURN), 2))(
  "a program that %s has not settled: it is stopped, and its engine ended",
  async (_, program) =>
    expect(await endingOf(program, { cpuMs: 50 })).toMatchObject({ type: "stopped", limit: "cpuMs" }),
);
