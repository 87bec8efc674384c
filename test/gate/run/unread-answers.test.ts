import { expect, test } from "vitest";
import { z } from "zod";
import { Gate } from "../../../src/gate/gate.ts";
import { UnreadAnswers } from "../../../src/gate/run/unread-answers.ts";
import { ToolSet } from "../../../src/tools/tool-set.ts";
import { holdCalls, idle, makeTool, openSession, type SessionParts } from "../open-session.ts";
import { runtimeWith } from "../../support/runtime.ts";

const MIB = 1024 * 1024;
const ANSWERS = 40;
const limits = { totalBytes: 1024 * MIB, resultBytes: 32 * MIB, concurrentCalls: 8 };

/** A session in which a program makes `ANSWERS` calls at once, of a tool that returns a text of this length. */
function callAll(length: number, parts: SessionParts = {}) {
  let started = 0;
  const tool = makeTool({
    execute: async () => {
      started += 1;
      await idle();
      return "x".repeat(length);
    },
  });
  const unread = new UnreadAnswers();
  const opened = openSession({ tools: [tool], limits, unread, ...parts });
  const answered: string[] = [];
  const calls = Array.from({ length: ANSWERS }, async (_, index) => {
    const answer = await opened.call();
    if (answer) answered.push(String(index + 1));
    return answer;
  });
  return { ...opened, unread, answered, all: Promise.all(calls), started: () => started };
}

/** Resolves once so many are answered, and nothing more is. */
async function untilStill(answered: readonly string[], count: number): Promise<void> {
  await expect.poll(() => answered.length).toBeGreaterThanOrEqual(count);
  for (let before = -1, turns = 0; turns < 20; turns += 1) {
    await idle();
    if (answered.length !== before) turns = 0;
    before = answered.length;
  }
}

test.each([
  ["1 MB", 1_000_000],
  ["20 MB", 20_000_000],
])("a program that reads none of its answers has the host hold 16 MiB of them and one more: %s", async (_, length) => {
  const { session, unread, answered, all, started } = callAll(length);
  const count = Math.ceil((16 * MIB) / (length + 2));
  await untilStill(answered, count);
  expect(unread.bytes).toBeGreaterThan(16 * MIB);
  expect(unread.bytes).toBeLessThanOrEqual(16 * MIB + length + 2);
  expect(answered.length).toBe(count);
  // Those that run already end, and wait with what they returned.
  expect(started()).toBeLessThanOrEqual(answered.length + limits.concurrentCalls);
  session.close();
  await all;
});

test("calls go on as the program reads, and all are answered", async () => {
  const { session, unread, answered, all } = callAll(1_000_000);
  let most = 0;
  for (let read = 0; read < ANSWERS; read += 1) {
    while (answered.length <= read) await idle();
    most = Math.max(most, unread.bytes);
    session.noteRead(answered[read] ?? "");
  }
  expect((await all).every((answer) => answer?.ok)).toBe(true);
  expect(most).toBeLessThanOrEqual(17 * MIB);
  expect(unread.bytes).toBe(0);
});

test("handlers that run were given 16 MiB and one more input, and the next starts once one of them has answered", async () => {
  const held = holdCalls();
  const tool = makeTool({ inputSchema: z.object({ text: z.string() }), execute: held.handler });
  const { session, call } = openSession({
    tools: [tool],
    limits: { ...limits, inputBytes: 2 * MIB, concurrentCalls: 64 },
    unread: new UnreadAnswers(),
  });
  const calls = Array.from({ length: 20 }, () => call({ text: "x".repeat(MIB) }));
  await held.untilStarted(16);
  await idle();
  expect(held.counts.started).toBe(16);
  held.release("done");
  await held.untilStarted(17);
  await idle();
  expect(held.counts.started).toBe(17);
  session.close();
  for (let open = held.counts.running; open > 0; open -= 1) held.release();
  await Promise.all(calls);
});

test("messages of failures count too", async () => {
  const { unread, answered, all } = callAll(1000, { limits: { ...limits, resultBytes: 10 } });
  await all;
  expect(answered.length).toBe(ANSWERS);
  expect(unread.bytes).toBeGreaterThan(ANSWERS * 50);
});

test("a program that reads nothing keeps no other program from a tool that runs one call at a time", async () => {
  const tool = makeTool({ concurrency: 1, execute: () => "x".repeat(5_000_000) });
  const gate = new Gate(new ToolSet([tool]));
  const { session, answered, all } = callAll(0, { gate });
  await untilStill(answered, 4);
  expect(answered.length).toBe(4);
  const other = openSession({ gate, limits: { ...limits } });
  expect(await other.call()).toMatchObject({ ok: true });
  session.close();
  await all;
});

test("after the end of the session nothing waits, and no further handler starts", async () => {
  const { session, answered, all, started } = callAll(1_000_000);
  await untilStill(answered, 17);
  const before = [answered.length, started()];
  session.close();
  const answers = await all;
  await session.ended;
  expect([answered.length, started()]).toEqual(before);
  expect(answers.filter((answer) => answer === undefined).length).toBe(ANSWERS - answered.length);
});

test("calls with large inputs whose results are large too do not wait for one another for ever", async () => {
  const rows = Array.from({ length: 80_000 }, (_, id) => id);
  const full = Promise.withResolvers<void>();
  let running = 0;
  const handler = () => {
    running += 1;
    if (running === 17) full.resolve();
    return full.promise.then(() => rows);
  };
  const tool = makeTool({ inputSchema: z.object({ text: z.string() }), execute: handler });
  await using runtime = await runtimeWith([tool]);
  const program = `const text = "x".repeat(1_000_000);
    return (await Promise.all(Array.from({ length: 20 }, () => tools.t({ text })))).length;`;
  const { outcome } = await runtime.execute(program, { limits: { totalBytes: 100_000_000 } });
  expect(outcome).toEqual({ type: "completed", value: 20 });
});
