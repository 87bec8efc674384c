import { beforeEach, describe, expect, test } from "vitest";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";
import { agentOf, runtimeWith } from "../support/index.ts";

const WALL_MS = 500;
/** What approvers and a tool take, on a clock that they move. */
const THINKING_MS = 900;
const limits = { wallMs: WALL_MS };

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});

/** Time passes, until the program has ended, in steps in which what waits can go on. */
async function passUntil<Ended>(ended: Promise<Ended>): Promise<Ended> {
  const state = { isOver: false };
  void ended.finally(() => (state.isOver = true));
  while (!state.isOver) await clock.advance(10);
  return await ended;
}

/** An approver that takes its time. */
const approve = async () => {
  await clock.advance(THINKING_MS);
  return true;
};

const pay = makeTool({
  name: "pay",
  effect: "write",
  approval: "always",
  allowedCallers: ["direct", "programmatic"],
  execute: () => "paid",
});
const slow = makeTool({ name: "slow", execute: () => clock.advance(THINKING_MS) });

/** A tool for programs: an agent that pays, by a call of its own or by a program, and asks another agent first. */
function clerk(timeoutMs: number) {
  const inner = agentOf("inner", scriptedModel([{ calls: [{ tool: "pay" }] }, { text: "paid" }]), {
    tools: [pay],
    allowedCallers: ["programmatic"],
    programs: "none",
    timeoutMs,
  });
  return agentOf(
    "clerk",
    scriptedModel([
      { calls: [{ tool: "pay" }], programs: ['return [await tools.pay({}), await tools.inner({ task: "Pay." })]'] },
      ({ results }) => ({ text: results.map(({ text }) => text).join() }),
    ]),
    { tools: [pay, inner], allowedCallers: ["programmatic"], timeoutMs },
  );
}

describe("waiting for approvals alone", () => {
  test.each<[string, string, unknown]>([
    ["one call", "return await tools.pay({})", "paid"],
    ["two at once", "return await Promise.all([tools.pay({}), tools.pay({})])", ["paid", "paid"]],
    ["a call that no one awaits at once", "const paid = tools.pay({}); return await paid", "paid"],
  ])("spends no wallMs: %s", async (_, program, value) => {
    await using runtime = await runtimeWith([pay], { approve, limits });
    const { outcome, usage } = await runtime.execute(program);
    expect(outcome).toEqual({ type: "completed", value });
    expect(usage.approvalMs).toBeGreaterThan(WALL_MS);
  });

  test("spends neither wallMs nor the timeouts of agents, where agents and their programs wait", async () => {
    await using runtime = await runtimeWith([clerk(2 * WALL_MS)], { approve, limits });
    const { outcome } = await runtime.execute('return await tools.clerk({ task: "Pay." })', {
      limits: { wallMs: 2 * WALL_MS },
    });
    expect(outcome).toEqual({ type: "completed", value: '"paid",["paid","paid"]' });
  });
});

test.each<[string, string]>([
  ["a call that works", "const paid = tools.pay({}); await tools.slow({}); return await paid"],
  ["a call that works, begun first", "const done = tools.slow({}); await tools.pay({}); return await done"],
  ["timers", "const paid = tools.pay({}); for (;;) await new Promise((resolve) => setTimeout(resolve, 10))"],
  ["a timer", "setTimeout(() => {}, 1e6); return await tools.pay({})"],
])("an approval that is asked for does not put the clock off for %s", async (_, program) => {
  await using runtime = await runtimeWith([pay, slow], { limits, approve: () => new Promise(() => {}) });
  const { outcome } = await passUntil(runtime.execute(program));
  expect(outcome).toMatchObject({ type: "stopped", limit: "wallMs" });
});

test("an agent that asks its model while another of its calls is held still has a timeout", async () => {
  const hanging = { ...scriptedModel([]), converse: () => new Promise<never>(() => {}) };
  const stuck = agentOf("stuck", hanging, { allowedCallers: ["programmatic"], timeoutMs: 100 });
  await using runtime = await runtimeWith([pay, stuck], {
    approve: () => new Promise(() => {}),
    limits: { wallMs: 5000 },
    logger: { error: () => {} },
  });
  const { outcome } = await passUntil(runtime.execute('void tools.pay({}); return await tools.stuck({ task: "x" })'));
  expect(outcome).toMatchObject({ type: "failed", fault: { code: "handler_timed_out" } });
});
