import { expect, test } from "vitest";
import { hasSameAfter, readySpare, withSandbox } from "./pool-programs.ts";

// Which engine is ready first depends on how long the one that was used is prepared.
test("the program after a large one gets the same engine, though another one is idle", () =>
  withSandbox({ engines: 2, warm: 2 }, async (sandbox) => {
    await readySpare(sandbox);
    const large = "globalThis.kept = new Float64Array(6e6).fill(1); return 1";
    expect(await hasSameAfter(sandbox, large)).toBe(true);
    expect(sandbox.pool.counts).toMatchObject({ engines: 2, idle: 1 });
  }));

test("the program after a small one gets an idle engine, and does not wait", () =>
  withSandbox({ engines: 2, warm: 2 }, async (sandbox) => {
    await readySpare(sandbox);
    expect(await hasSameAfter(sandbox, "return 1")).toBe(false);
  }));
