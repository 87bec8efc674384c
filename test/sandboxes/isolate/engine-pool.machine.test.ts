import { expect, test } from "vitest";
import { hasSameAfter, readySpare, withSandbox } from "./pool-programs.ts";

// Which engine is ready first depends on how long the one that was used is prepared.
test("the next program gets an idle engine, and does not wait for the one that is prepared", () =>
  withSandbox({ engines: 2, warm: 2 }, async (sandbox) => {
    await readySpare(sandbox);
    expect(await hasSameAfter(sandbox, "return 1")).toBe(false);
  }));
