import { expect, test } from "vitest";
import { type CallContext, createRuntime, createSqliteJournal, type ExecutionEvent } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { call, guestThatSays, READY, settled, turnEnd } from "../hostile-support/frames.ts";
import { leftOf, makeTool, newFile, runtimeWith } from "../support/index.ts";

/** A third of it passes until a driver reads what others have decided. A busy machine must not let it end. */
const LEASE_MS = 3000;

/** A guest that has used the network, calls `pay`, and returns the answer that it gets. */
function usesNetwork(): { readonly sandbox: Sandbox; readonly opened: () => number } {
  let opened = 0;
  const ends = (event: string) =>
    event.startsWith('{"kind":"stop"') ? [turnEnd(0)] : [settled(event.slice(event.indexOf("\n") + 1))];
  const guest = () => {
    opened += 1;
    return guestThatSays([READY], ['{"kind":"unreplayable","cause":"network"}', call(1, "pay"), turnEnd(1)], ends);
  };
  return { sandbox: createMemorySandbox({ guest }), opened: () => opened };
}

/** Starts a program that cannot be replayed, and resolves once it waits for the approval of its call, or has ended. */
async function startHeld(journal: Journal, options: { readonly signal?: AbortSignal; readonly waitMs?: number } = {}) {
  const paid: string[] = [];
  const execute = (_: unknown, { callId }: CallContext) => {
    paid.push(callId);
    return "paid";
  };
  const tool = makeTool({ name: "pay", effect: "write", approval: "always", execute });
  const guests = usesNetwork();
  const runtime = await createRuntime({
    tools: [tool],
    journal,
    sandbox: guests.sandbox,
    leaseMs: LEASE_MS,
    approve: () => "later",
  });
  const waits = Promise.withResolvers<ExecutionEvent>();
  const events: ExecutionEvent[] = [];
  const running = runtime.execute("unused", {
    id: "one",
    signal: options.signal ?? new AbortController().signal,
    limits: { waitMs: options.waitMs },
    onEvent: (event) => {
      events.push(event);
      if (event.type === "execution_waiting") waits.resolve(event);
    },
  });
  // A call that may wait for some milliseconds has expired on a busy machine before it is told to wait.
  const told = await Promise.race([waits.promise, running.then(() => undefined)]);
  return { runtime, running, paid, events, tool, guests, waits: told };
}

test("a program that cannot be replayed waits where it runs, says so, and is decided from another process", async () => {
  const file = newFile();
  using journal = createSqliteJournal({ path: file });
  const { runtime, running, paid, waits, events, tool } = await startHeld(journal);
  expect(waits).toMatchObject({
    execution: "one",
    held: "network",
    waiting: { approvals: [{ callId: "1", tool: "pay" }] },
  });
  const [listed] = await Array.fromAsync(runtime.executions.list());
  expect(listed).toMatchObject({ state: "waiting", driven: true, waitsFor: ["pay"] });

  // Another connection to the file is another process to the journal.
  using elsewhere = createSqliteJournal({ path: file });
  await using other = await runtimeWith([tool], { journal: elsewhere });
  // It only waits, so a resume reports that, and drives nothing.
  expect((await other.execution("one").resume()).outcome.type).toBe("waiting");
  expect(await Array.fromAsync(other.recover())).toEqual([]);
  await other.execution("one").decide({ "1": { allow: true, by: "ann" } });
  const report = await running;
  expect(report.outcome).toEqual({ type: "completed", value: "paid" });
  expect(report.output.text).toContain("could not be put down");
  expect(paid).toEqual(["1"]);
  expect(events.filter(({ type }) => type === "execution_waiting").length).toBe(1);
  await runtime[Symbol.asyncDispose]();
});

test("it is ended by its signal, and its call is dropped", async () => {
  const over = new AbortController();
  const { runtime, running, paid } = await startHeld(createMemoryJournal(), { signal: over.signal });
  over.abort();
  expect((await running).outcome).toEqual({ type: "cancelled" });
  expect(paid).toEqual([]);
  await runtime[Symbol.asyncDispose]();
});

test("its call is refused after waitMs, and the program goes on", async () => {
  const { runtime, running, paid } = await startHeld(createMemoryJournal(), { waitMs: 50 });
  expect((await running).outcome).toMatchObject({ type: "completed", value: { code: "approval_expired" } });
  expect(paid).toEqual([]);
  await runtime[Symbol.asyncDispose]();
});

test("if its host dies it ends as crashed with the cause, decided or not, and nothing of it runs again", async () => {
  const { runtime, running, tool, paid, guests } = await startHeld(createMemoryJournal());
  const journals = [
    await leftOf(runtime.journal, "one"),
    await leftOf(runtime.journal, "one"),
    await leftOf(runtime.journal, "one"),
  ];
  await runtime[Symbol.asyncDispose]();
  await running;
  for (const [index, journal] of journals.entries()) {
    await using next = await createRuntime({ tools: [tool], journal, sandbox: guests.sandbox, approve: () => true });
    const [left] = await Array.fromAsync(next.executions.list());
    expect(left).toMatchObject({ state: "running", driven: false });
    const report =
      index === 0
        ? (await Array.fromAsync(next.recover()))[0]
        : await next.execution("one").resume(index === 1 ? {} : { decisions: { "1": { allow: true } } });
    expect(report).toHaveProperty("outcome", {
      type: "crashed",
      code: "engine_died",
      detail:
        "the host died; the program was not resumed, because it had used state that a replay cannot reproduce (network)",
    });
    expect(await Array.fromAsync(next.executions.list({ open: true }))).toEqual([]);
  }
  expect(paid).toEqual([]);
});
