import { expect, test } from "vitest";
import { z } from "zod";
import { createFleet, type Fleet, type Taking, type Wake, type WakeTaker } from "../../src/fleet/index.ts";
import { createRuntime, defineTool, type Runtime } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel } from "../../src/testing.ts";
import { manualClock } from "../support/clock.ts";
import { MemoryQueue } from "./memory-queue.ts";

/** Longer than any test: what is not woken does not go on. */
const NEVER_MS = 3_600_000;

const ask = defineTool({
  name: "ask",
  description: "d",
  input: z.object({ n: z.number() }),
  allowedCallers: ["programmatic"],
  effect: "read",
  handler: "client",
});

/** A moment of a queue at which it waits for the test. */
class Gate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #open = Promise.withResolvers<void>();
  readonly reached = this.#reached.promise;

  pass(): Promise<void> {
    this.#reached.resolve();
    return this.#open.promise;
  }

  open(): void {
    this.#open.resolve();
  }
}

/** A queue that waits where a test says so. */
class SlowQueue extends MemoryQueue {
  beforeLater: Gate | undefined;
  beforeGiving: Gate | undefined;
  beforeWork: Gate | undefined;
  refusal: Error | undefined;
  /** An execution whose next wake is lost. */
  losesWakeOf: string | undefined;
  /** How it is lost: with the connection, or with the worker that has taken it. */
  losesBy: "error" | "death" = "error";
  ended = 0;

  override async wake(wakes: readonly Wake[]): Promise<void> {
    if (wakes.some(({ execution }) => execution === this.losesWakeOf)) {
      this.losesWakeOf = undefined;
      if (this.losesBy === "death") return;
      throw new Error("The connection was lost.");
    }
    if (wakes.some(({ afterMs = 0 }) => afterMs > 0)) await this.beforeLater?.pass();
    await super.wake(wakes);
  }

  override async work(taker: WakeTaker): Promise<Taking> {
    await this.beforeWork?.pass();
    if (this.refusal) throw this.refusal;
    const passedOver = async () => {
      await this.beforeGiving?.pass();
      return taker.passedOver();
    };
    const taking = await super.work({ ...taker, passedOver });
    return {
      pull: taking.pull,
      [Symbol.asyncDispose]: async () => {
        this.ended += 1;
        await taking[Symbol.asyncDispose]();
      },
    };
  }
}

function share(journal: Journal = createMemoryJournal()) {
  const queue = new SlowQueue();
  const join = () => createFleet({ journal, queue });
  const open = (fleet: Fleet) =>
    createRuntime({ tools: [ask], sandbox: createMemorySandbox(), approve: () => "later", fleet });
  return { queue, join, open };
}

const work = (runtime: Runtime) =>
  runtime.work({ reconcileMs: NEVER_MS, onError: (error) => expect.unreachable(String(error)) });

test("an answer that comes while its execution is put to rest wakes it, and not only its last moment", async () => {
  const { queue, join, open } = share();
  const fleet = join();
  await using runtime = await open(fleet);
  await using _ = await work(runtime);
  const toRest = (queue.beforeLater = new Gate());
  const id = await runtime.submit("return tools.ask({ n: 1 });", { limits: { waitMs: NEVER_MS } });
  await toRest.reached;
  await runtime.answer(id, { 1: { value: 5 } });
  // The worker that puts it to rest is the one that takes the wake of the answer.
  await expect.poll(() => queue.size).toBe(0);
  toRest.open();
  await expect.poll(async () => (await runtime.status(id)).listed.state).toBe("ended");
  expect((await runtime.wait(id)).report?.outcome).toEqual({ type: "completed", value: 5 });
});

test.each([
  ["with the connection", "error"],
  ["with the worker that has taken it", "death"],
] as const)(
  "the answer to a call of a conversation's program goes on although the wake is lost %s",
  async (_, losesBy) => {
    const { queue, join, open } = share();
    queue.losesBy = losesBy;
    await using runtime = await open(join());
    const model = scriptedModel([
      { programs: ["return tools.ask({ n: 1 });"] },
      ({ results }) => ({ text: results.map(({ text }) => text).join() }),
    ]);
    const { ending } = await runtime.agent({ model, task: "Work.", execution: "talk" });
    if (ending.type !== "waiting") throw new Error("It waits for its program's call.");
    const told: unknown[] = [];
    await using worker = await runtime.work({
      reconcileMs: 100,
      model: () => model,
      onError: (error) => told.push(error),
    });
    await expect.poll(() => Array.fromAsync(runtime.journal.list({ open: true, due: "left" }))).toEqual([]);
    await expect.poll(() => queue.size).toBe(0);
    queue.losesWakeOf = "talk";
    await runtime.answer("talk", Object.fromEntries(ending.calls.map(({ callId }) => [callId, { value: 7 }])));
    const { conversation } = await runtime.wait("talk");
    expect(conversation?.ending).toMatchObject({ type: "answered", answer: expect.stringContaining("7") });
    expect(queue.losesWakeOf).toBeUndefined();
    expect(worker.driven).toBeLessThanOrEqual(1);
    expect(told).toHaveLength(losesBy === "error" ? 1 : 0);
  },
);

test("the answer to a call of a conversation's program goes on that comes while the conversation is put to rest, although the wake is lost", async () => {
  const store = createMemoryJournal();
  const resting = new Gate();
  const journal: Journal = {
    ...store,
    rest: async (execution, head, until, programs) => {
      if (execution === "talk" && until === Number.POSITIVE_INFINITY) await resting.pass();
      return (await store.rest?.(execution, head, until, programs)) ?? false;
    },
  };
  const { queue, join, open } = share(journal);
  await using runtime = await open(join());
  const model = scriptedModel([
    { programs: ["return tools.ask({ n: 1 });"] },
    ({ results }) => ({ text: results.map(({ text }) => text).join() }),
  ]);
  const { ending } = await runtime.agent({ model, task: "Work.", execution: "talk" });
  if (ending.type !== "waiting") throw new Error("It waits for its program's call.");
  await using _ = await runtime.work({ reconcileMs: 100, model: () => model, onError: () => {} });
  await resting.reached;
  await runtime.answer("talk", Object.fromEntries(ending.calls.map(({ callId }) => [callId, { value: 7 }])));
  // The wake of its program has become one of the conversation, which came to the worker that holds it.
  const isDue = async () => (await Array.fromAsync(journal.list({ due: "left" }))).map(({ execution }) => execution);
  await expect.poll(isDue).toEqual(["talk"]);
  await expect.poll(() => queue.size).toBe(0);
  queue.losesWakeOf = "talk";
  resting.open();
  const { conversation } = await runtime.wait("talk");
  expect(conversation?.ending).toMatchObject({ type: "answered", answer: expect.stringContaining("7") });
});

test("a wake that is on its way to a worker when its drain begins is another worker's", async () => {
  const { queue, join, open } = share();
  await using first = await open(join());
  const worker = await work(first);
  const giving = (queue.beforeGiving = new Gate());
  const id = await first.submit("return 1;");
  await giving.reached;
  const drained = worker.drain(0);
  giving.open();
  expect(await drained).toBe(0);
  await expect.poll(() => queue.size).toBe(1);
  expect(worker.driven).toBe(0);
  expect((await first.status(id)).listed.records).toBe(1);
  await using second = await open(join());
  await using _ = await work(second);
  expect((await second.wait(id)).report?.outcome).toEqual({ type: "completed", value: 1 });
});

test("a worker that cannot begin leaves nothing behind", async () => {
  const { queue, join, open } = share();
  const fleet = join();
  await using runtime = await open(fleet);
  queue.refusal = new Error("no such queue");
  const clock = manualClock();
  await expect(runtime.work({ reconcileMs: NEVER_MS })).rejects.toThrow("no such queue");
  expect(clock.timers).toBe(0);
  expect(fleet.parts.journal.workers.size).toBe(0);
});

test("a runtime that closes while its worker begins has none, and the queue hands it nothing", async () => {
  const { queue, join, open } = share();
  const fleet = join();
  const runtime = await open(fleet);
  const begun = (queue.beforeWork = new Gate());
  const beginning = runtime.work({ reconcileMs: NEVER_MS });
  await begun.reached;
  const closed = runtime[Symbol.asyncDispose]();
  begun.open();
  await expect(beginning).rejects.toMatchObject({ code: "runtime_closed" });
  await closed;
  expect(queue.ended).toBeGreaterThan(0);
  expect(fleet.parts.journal.workers.size).toBe(0);
  await expect(runtime.work()).rejects.toMatchObject({ code: "runtime_closed" });
});
