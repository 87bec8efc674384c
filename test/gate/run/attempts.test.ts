import { expect, test, vi } from "vitest";
import type { z } from "zod";
import { type Effect, PortcullisError, type ToolOptions } from "../../../src/index.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { recovered } from "../../executions/recovered.ts";
import { manualClock } from "../../support/clock.ts";
import { makeTool, openSession } from "../open-session.ts";
import { leftOf } from "../../support/journal-with.ts";
import { runtimeWith } from "../../support/runtime.ts";

/** A tool whose first `failures` attempts throw. */
function failing(
  failures: number,
  options: Partial<ToolOptions<z.ZodObject>> = {},
  error: () => unknown = () => new Error("503"),
) {
  const keys: string[] = [];
  const tool = makeTool({
    retry: { attempts: 3, delayMs: 100 },
    execute: (_, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      if (keys.length <= failures) throw error();
      return "ok";
    },
    ...options,
  });
  return { tool, keys };
}

async function called({ tool }: ReturnType<typeof failing>) {
  const clock = manualClock();
  const open = openSession({ tools: [tool] });
  const calling = open.call();
  await clock.advance(100_000);
  return { ...open, answer: await calling };
}

test("a call whose handler throws is made again under the same key, and each failed attempt is journalled and told", async () => {
  const made = failing(2);
  const { answer, records, events, session } = await called(made);
  expect(answer).toMatchObject({ ok: true, text: '"ok"' });
  expect(made.keys).toHaveLength(3);
  expect(new Set(made.keys).size).toBe(1);
  expect(records.map(({ type }) => type)).toEqual(["call", "retry", "retry", "answered"]);
  expect(records.filter(({ type }) => type === "retry")).toMatchObject([
    { call: "1", attempt: 1, reason: "handler_failed" },
    { call: "1", attempt: 2, reason: "handler_failed" },
  ]);
  expect(events.filter(({ type }) => type === "call_retried")).toMatchObject([
    { callId: "1", tool: "t", attempt: 1, error: { message: "503" } },
    { callId: "1", tool: "t", attempt: 2, error: { message: "503" } },
  ]);
  expect(session.ledger.lines).toMatchObject([{ outcome: { type: "value" }, attempts: 3 }]);
});

test("the last attempt's failure is the answer, and attempts count the first", async () => {
  const made = failing(9);
  const { answer, events } = await called(made);
  expect(answer).toMatchObject({ ok: false, code: "handler_failed" });
  expect(made.keys).toHaveLength(3);
  expect(events.at(-1)).toMatchObject({ type: "call_ended", error: { message: "503" }, attempts: 3 });
});

test.each([
  ["what a handler says on purpose", () => new PortcullisError("tool_failed", "No such customer.")],
  ["a result that is too large", () => new PortcullisError("result_too_large", "Large.")],
])("%s is not asked for again", async (_, error) => {
  const made = failing(1, {}, error);
  await called(made);
  expect(made.keys).toHaveLength(1);
});

test("`on` decides by the error; where it throws or gives no true, the call is not made again", async () => {
  const on = vi.fn((error: unknown) => (error as Error).message === "503");
  const asked = failing(1, { retry: { attempts: 2, delayMs: 0, on } });
  expect((await called(asked)).answer).toMatchObject({ ok: true });
  expect(on).toHaveBeenCalledOnce();
  for (const broken of [() => explode(), () => "yes" as never, (async () => true) as never]) {
    const made = failing(1, { retry: { attempts: 2, delayMs: 0, on: broken } });
    expect((await called(made)).answer).toMatchObject({ ok: false, code: "handler_failed" });
    expect(made.keys).toHaveLength(1);
  }
});

function explode(): never {
  throw new Error("a bug");
}

test("the attempts of a call share its time, and none begins for which no time is left", async () => {
  const slow = failing(9, { timeoutMs: 1000, retry: { attempts: 10, delayMs: 400 } });
  await called(slow);
  // At 0, after at most 400 and after at most 800 more.
  expect(slow.keys.length).toBeLessThanOrEqual(3);
  let runs = 0;
  const hanging = makeTool({
    timeoutMs: 1000,
    retry: { attempts: 3, delayMs: 0 },
    execute: () => {
      runs += 1;
      if (runs === 1) throw new Error("503");
      return new Promise(() => {});
    },
  });
  const { answer } = await called({ tool: hanging, keys: [] });
  expect(answer).toMatchObject({ ok: false, code: "handler_timed_out" });
  expect(runs).toBe(2);
});

test.each(["read", "idempotent", "write"] as const)(
  "a call that is a %s by its input is made again only if it is no write",
  async (given: Effect) => {
    const made = failing(1, { effect: () => given });
    await called(made);
    expect(made.keys).toHaveLength(given === "write" ? 1 : 2);
  },
);

test("a session that closes between two attempts ends the call, and leaves no timer", async () => {
  const made = failing(9, { retry: { attempts: 3, delayMs: 60_000 } });
  const clock = manualClock();
  const { session, call } = openSession({ tools: [made.tool] });
  const calling = call();
  await clock.advance(1);
  session.close();
  expect(await calling).toBeUndefined();
  await session.ended;
  expect(session.ledger.lines).toMatchObject([{ outcome: { type: "aborted" }, started: true }]);
  expect(clock.timers).toBe(0);
});

test("an execution that is taken up between two attempts goes on with the next one", async () => {
  const made = failing(9, { retry: { attempts: 3, delayMs: 0 } });
  const journal = createMemoryJournal();
  await using first = await runtimeWith([made.tool], { journal });
  const { calls } = await first.execute("return await tools.t({});", { id: "one" });
  expect(calls).toMatchObject([{ attempts: 3, outcome: { type: "failed" } }]);
  const records = await Array.fromAsync(journal.read("one"));
  const copy = await leftOf(journal, "one", records.findIndex(({ type }) => type === "retry") + 1);
  const again = failing(9, { retry: { attempts: 3, delayMs: 0 } });
  await using second = await runtimeWith([again.tool], { journal: copy });
  const [report] = await recovered(second);
  expect(report?.calls).toMatchObject([{ attempts: 3, outcome: { type: "failed" } }]);
  expect(again.keys).toHaveLength(2);
  expect(again.keys[0]).toBe(made.keys[0]);
});

test.each<[string, (input: { numbers: number[]; dryRun?: boolean }) => unknown]>([
  ["takes its work out of it", ({ numbers }) => numbers.splice(0)],
  ["leaves out a field", (input) => delete input.dryRun],
])("each attempt has the input of the call, also where a handler %s", async (_, spoil) => {
  const seen: string[] = [];
  const tool = makeTool({
    retry: { attempts: 3, delayMs: 100 },
    execute: (input) => {
      seen.push(JSON.stringify(input));
      spoil(input as never);
      throw new Error("503");
    },
  });
  const input = { numbers: [1, 2, 3], dryRun: true };
  const clock = manualClock();
  const calling = openSession({ tools: [tool] }).call(input);
  await clock.advance(100_000);
  await calling;
  expect(seen).toEqual(Array.from({ length: 3 }, () => JSON.stringify(input)));
});
