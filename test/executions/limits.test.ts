import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteJournal } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { fieldsOf, optionsIn } from "../../src/base/index.ts";
import {
  DEFAULT_LIMITS,
  defaultLimitsFor,
  heldAllowance,
  LIMIT_RULES,
  type Limits,
  resolveLimits,
} from "../../src/executions/limits.ts";
import { newFolder, runtimeWith } from "../support/index.ts";

const NAMES = Object.keys(LIMIT_RULES) as (keyof typeof LIMIT_RULES)[];

const PLACE = optionsIn("execute", "limits");

/** What these changes are refused with. */
function refusal(changes: unknown, place = PLACE): unknown {
  try {
    return resolveLimits(DEFAULT_LIMITS, changes as Partial<Limits>, place);
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    expect(code).toBe("option_invalid");
    return message;
  }
}

const { waitMs } = LIMIT_RULES;

test("of all limits only waitMs has no default, and none applies where it is not given", () => {
  expect(waitMs.default).toBeUndefined();
  expect("waitMs" in DEFAULT_LIMITS).toBe(false);
});

test.each(NAMES)("%s can be set to its bounds, and not past them", (name) => {
  const { min, max } = LIMIT_RULES[name];
  for (const value of [min, max])
    expect(resolveLimits(DEFAULT_LIMITS, { [name]: value }, PLACE)).toMatchObject({ [name]: value });
  for (const value of [min - 1, max + 1])
    expect(refusal({ [name]: value })).toBe(
      `execute({ limits: { ${name} } }): expected a whole number from ${min} to ${max}, got ${value}.`,
    );
});

test("an error names the option in which the limits were given", () => {
  expect(refusal({ calls: -1 }, fieldsOf("header.limits"))).toContain("header.limits.calls: expected");
});

test("limits that are not given keep their values, and the resolved limits are frozen", () => {
  const base = resolveLimits(DEFAULT_LIMITS, { calls: 5, wallMs: 100, queueMs: undefined }, PLACE);
  const limits = resolveLimits(base, { calls: 6 }, PLACE);
  expect(limits).toEqual({ ...DEFAULT_LIMITS, calls: 6, wallMs: 100 });
  expect(resolveLimits(base, undefined, PLACE)).toBe(base);
  expect([DEFAULT_LIMITS, base, limits].every(Object.isFrozen)).toBe(true);
});

test("with a journal that outlives the process calls may move 1 GiB, and an execution holds no more memory for it", async () => {
  const folder = newFolder(onTestFinished);
  {
    using inFile = createSqliteJournal({ path: join(folder, "journal.db") });
    using inMemory = createSqliteJournal({ path: ":memory:" });
    expect([inFile.isDurable, inMemory.isDurable, createMemoryJournal().isDurable ?? false]).toEqual([
      true,
      false,
      false,
    ]);
    expect(defaultLimitsFor(inFile)).toEqual({ ...DEFAULT_LIMITS, totalBytes: 1024 ** 3 });
    expect(defaultLimitsFor(inMemory)).toBe(DEFAULT_LIMITS);
    const held = heldAllowance(DEFAULT_LIMITS, false);
    expect(heldAllowance(defaultLimitsFor(inFile), true)).toBe(held);
    expect(heldAllowance({ ...DEFAULT_LIMITS, totalBytes: 1000 }, true)).toBe(1000 + DEFAULT_LIMITS.frameBytes);
    await using runtime = await runtimeWith([], { journal: inFile });
    expect(runtime.limits.totalBytes).toBe(1024 ** 3);
    await using less = await runtimeWith([], { journal: inFile, limits: { totalBytes: 1000 } });
    expect(less.limits.totalBytes).toBe(1000);
  }
});
