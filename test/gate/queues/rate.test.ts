import { beforeEach, expect, test } from "vitest";
import { now } from "../../../src/base/index.ts";
import { Gate } from "../../../src/gate/gate.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { ToolSet } from "../../../src/tools/tool-set.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import { makeTool, openSession } from "../open-session.ts";

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});
const advance = async (ms: number) => {
  await new Promise(setImmediate);
  await clock.advance(ms);
  await new Promise(setImmediate);
};

/** A tool that may start twice a second, and what has started it. */
function rated(changes: Parameters<typeof makeTool>[0] = {}) {
  const started: string[] = [];
  const tool = makeTool({
    rate: { calls: 2, perMs: 1000 },
    execute: (_, { tenant, callId }) => void started.push(`${tenant} ${callId}`),
    ...changes,
  });
  return { tool, started };
}

const gateOf = (tool: Tool) => new Gate(new ToolSet([tool]));

test("no more calls start in any span than the rate allows, over all sessions of a gate and of gates beside it", async () => {
  const { tool, started } = rated();
  const gate = gateOf(tool);
  const sessions = [
    openSession({ gate }),
    openSession({ gate }),
    openSession({ gate: gate.withTools(new ToolSet([tool])) }),
  ];
  const calling = sessions.flatMap(({ call }) => [call(), call()]);
  for (const expected of [2, 4, 6]) {
    await advance(999);
    expect(started).toHaveLength(expected);
    await advance(1);
  }
  expect((await Promise.all(calling)).every((answer) => answer?.ok)).toBe(true);
  expect(clock.timers).toBe(0);
});

test("tenants take turns: one with a thousand calls does not keep another from its own", async () => {
  const { tool, started } = rated();
  const gate = gateOf(tool);
  const acme = openSession({ gate });
  const beta = openSession({ gate, tenant: "beta" });
  for (let calls = 0; calls < 50; calls += 1) void acme.call();
  void beta.call();
  await advance(1500);
  expect(started).toHaveLength(4);
  expect(started).toContain("beta 1");
});

test("a clock of the machine that is set back holds up no call", async () => {
  const { tool, started } = rated();
  const { call } = openSession({ gate: gateOf(tool) });
  const calling = [call(), call(), call()];
  await advance(1);
  clock.jump(-3_600_000);
  await advance(999);
  expect(started).toHaveLength(3);
  await Promise.all(calling);
});

test("a call that waits for the rate spends none of its handler's time", async () => {
  const { tool } = rated({ timeoutMs: 10 });
  const { call } = openSession({ gate: gateOf(tool) });
  const calling = Array.from({ length: 6 }, () => call());
  await advance(3000);
  expect((await Promise.all(calling)).every((answer) => answer?.ok)).toBe(true);
});

test("calls that end while they wait leave the rate to others", async () => {
  const { tool, started } = rated();
  const gate = gateOf(tool);
  const acme = openSession({ gate });
  const beta = openSession({ gate, tenant: "beta" });
  const calling = Array.from({ length: 10 }, () => acme.call());
  await advance(1);
  const given = beta.call();
  await beta.session.giveUp("1", "The client has gone.");
  expect(await given).toBeUndefined();
  acme.session.close();
  expect(await Promise.all(calling.slice(2))).toEqual(Array.from({ length: 8 }));
  const next = [beta.call(), beta.call()];
  await advance(1000);
  expect((await Promise.all(next)).every((answer) => answer?.ok)).toBe(true);
  expect(started).toEqual(["acme 1", "acme 2", "beta 2", "beta 3"]);
  expect(clock.timers).toBe(0);
});

test("each attempt of a call counts, and waiting for it takes none of the call's time", async () => {
  const at: number[] = [];
  const { tool } = rated({
    rate: { calls: 1, perMs: 1000 },
    retry: { attempts: 3, delayMs: 0 },
    timeoutMs: 500,
    execute: () => {
      at.push(now());
      if (at.length < 3) throw new Error("503");
      return "ok";
    },
  });
  const { call } = openSession({ gate: gateOf(tool) });
  const calling = call();
  await advance(10_000);
  expect(await calling).toMatchObject({ ok: true });
  const [first = 0, second = 0, third = 0] = at;
  expect([second - first, third - second].every((ms) => ms >= 1000)).toBe(true);
});

test("concurrency counts calls and not handlers: a call that took too long makes room, though its handler goes on", async () => {
  let running = 0;
  const tool = makeTool({
    concurrency: 1,
    timeoutMs: 10,
    execute: () => {
      running += 1;
      return new Promise(() => {});
    },
  });
  const { call } = openSession({ gate: gateOf(tool) });
  const calling = [call(), call()];
  await advance(5);
  expect(running).toBe(1);
  await advance(10);
  expect(running).toBe(2);
  await advance(10);
  expect(await Promise.all(calling)).toMatchObject([{ code: "handler_timed_out" }, { code: "handler_timed_out" }]);
});
