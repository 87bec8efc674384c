import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createFleet, type PostgresJournal } from "../../src/fleet/index.ts";
import { createRuntime, type Runtime } from "../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { noPostgres } from "../postgres-support/postgres-server.ts";
import { type SharedFleet, useFleets } from "./use-fleets.ts";
import { makeTool } from "../support/tools.ts";

/** Longer than any test: what is not woken does not go on. */
const NEVER_MS = 3_600_000;

const ask = makeTool({ name: "ask", inputSchema: z.object({ n: z.number() }), execute: "client" });

type Query = PostgresJournal["query"];

/** What happens before, or in place of, a statement. */
type Meanwhile = (text: string, values: readonly unknown[]) => Promise<void> | undefined;

/** A runtime of a fleet, whose statements beside the journal's a test can hold up or refuse. */
async function joined(shared: SharedFleet, meanwhile: Meanwhile = () => undefined) {
  const journal = shared.open();
  const query: Query = async (text, values = [], options = {}) => {
    await meanwhile(text, values);
    return journal.query(text, values, options);
  };
  const held = new Proxy(journal, {
    get: (target, name) => {
      const member: unknown = name === "query" ? query : Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
  const fleet = createFleet({ journal: held, onError: () => {} });
  return createRuntime({ tools: [ask], sandbox: createMemorySandbox(), approve: () => "later", fleet });
}

const work = (runtime: Runtime) =>
  runtime.fleet!.work(runtime, { reconcileMs: NEVER_MS, onError: (error) => expect.unreachable(String(error)) });

/** A statement that is held up once: `reached` resolves when it is sent, and it goes on with `open`. */
function gate(isHeld: (text: string, values: readonly unknown[]) => boolean) {
  const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isOver = false;
  const meanwhile: Meanwhile = (text, values) => {
    if (isOver || !isHeld(text, values)) return undefined;
    isOver = true;
    reached.resolve();
    return opened.promise;
  };
  return { meanwhile, reached: reached.promise, open: opened.resolve };
}

const rests = (text: string) => text.includes("SET rests_until");

const talk = () =>
  scriptedModel([
    { programs: ["return tools.ask({ n: 1 });"] },
    ({ results }) => ({ text: results.map(({ text }) => text).join() }),
  ]);

/** A conversation whose program waits for a call, and what answers it. */
async function beginTalk(runtime: Runtime) {
  const model = talk();
  const { ending } = await runtime.agent({ model, task: "Work.", id: "talk" });
  if (ending.type !== "waiting") throw new Error("It waits for its program's call.");
  const answers = Object.fromEntries(ending.calls.map(({ callId }) => [callId, { value: 7 }]));
  return {
    model: () => model,
    answer: () => runtime.execution("talk").answer(answers),
    expectAnswered: async () => {
      const { conversation } = await runtime.execution("talk").wait();
      expect(conversation?.ending).toMatchObject({ type: "answered", answer: expect.stringContaining("7") });
    },
  };
}

describe.skipIf(noPostgres)("a worker", () => {
  const share = useFleets();

  test.each([
    ["while its execution is put to rest", rests],
    [
      "while its last moment is put into the queue",
      (text: string, [value]: readonly unknown[]) => text.includes(".job") && /"startAfter":"[1-9]/.test(String(value)),
    ],
  ] as const)("takes up an answer that comes %s", async (_, isHeld) => {
    await using shared = await share();
    await using server = await joined(shared);
    const held = gate(isHeld);
    await using runtime = await joined(shared, held.meanwhile);
    await using worker = await work(runtime);
    const id = await server.fleet!.submit(server, "return tools.ask({ n: 1 });", { limits: { waitMs: NEVER_MS } });
    await held.reached;
    await server.execution(id).answer({ 1: { value: 5 } });
    // The worker that puts it to rest is the one that takes the wake of the answer.
    await expect.poll(shared.wakes).toBe(0);
    held.open();
    expect((await server.execution(id).wait()).report?.outcome).toEqual({ type: "completed", value: 5 });
    expect(worker.driven).toBeLessThanOrEqual(1);
  });

  test("goes on with a conversation whose program was answered although the wake is lost with the connection", async () => {
    await using shared = await share();
    let isLost = false;
    const lose: Meanwhile = async (text, values) => {
      if (!isLost || !text.includes(".job") || !String(values[0]).includes('"singletonKey":"talk"')) return;
      isLost = false;
      throw new Error("The connection was lost.");
    };
    await using runtime = await joined(shared, lose);
    const { model, answer, expectAnswered } = await beginTalk(runtime);
    const told: unknown[] = [];
    const onError = (error: unknown) => told.push(error);
    await using worker = await runtime.fleet!.work(runtime, { reconcileMs: 100, model, onError });
    await expect.poll(shared.wakes).toBe(0);
    isLost = true;
    await answer();
    await expectAnswered();
    expect([isLost, told.length]).toEqual([false, 1]);
    expect(worker.driven).toBeLessThanOrEqual(1);
  });

  test("puts no conversation to rest whose program was answered meanwhile, although that wake is gone", async () => {
    await using shared = await share();
    const resting = gate((text, values) => rests(text) && values[0] === "talk");
    await using runtime = await joined(shared, resting.meanwhile);
    const { model, answer, expectAnswered } = await beginTalk(runtime);
    await using _ = await runtime.fleet!.work(runtime, { reconcileMs: 100, model, onError: () => {} });
    await resting.reached;
    await answer();
    await shared.loseWakes();
    resting.open();
    await expectAnswered();
  });

  test("tells of an entry that cannot be read, leaves it alone for a while, and takes up the others", async () => {
    await using shared = await share();
    await using runtime = await joined(shared);
    const ids = await Promise.all([1, 2, 3].map((n) => runtime.fleet!.submit(runtime, `return ${n};`)));
    await shared.open().query("UPDATE portcullis.executions SET kind = 'unknown' WHERE id = $1", [ids[1]]);
    await shared.loseWakes();
    const told: unknown[] = [];
    await using _ = await runtime.fleet!.work(runtime, { reconcileMs: 100, onError: (error) => told.push(error) });
    for (const id of [ids[0] ?? "", ids[2] ?? ""])
      expect((await runtime.execution(id).wait()).listed.state).toBe("ended");
    await expect.poll(() => told[0]).toMatchObject({ code: "journal_corrupt" });
    await expect.poll(shared.wakes).toBe(1);
  });

  test("leaves a wake that is on its way to it when its drain begins to another worker", async () => {
    await using shared = await share();
    const giving = gate((text) => text.includes("SKIP LOCKED") && text.includes("'active'") && text.includes("wakes"));
    await using first = await joined(shared, giving.meanwhile);
    await using server = await joined(shared);
    const id = await server.fleet!.submit(server, "return 1;");
    const worker = await work(first);
    await giving.reached;
    const drained = worker.drain(0);
    giving.open();
    expect(await drained).toBe(0);
    expect(worker.driven).toBe(0);
    expect((await server.execution(id).status()).listed.records).toBe(1);
    await using _ = await work(server);
    expect((await server.execution(id).wait()).report?.outcome).toEqual({ type: "completed", value: 1 });
  });

  test("of a runtime that closes while it begins is none, and is handed nothing", async () => {
    await using shared = await share();
    const runtime = await joined(shared);
    const beginning = runtime.fleet!.work(runtime, { reconcileMs: NEVER_MS });
    const closed = runtime[Symbol.asyncDispose]();
    await expect(beginning).rejects.toMatchObject({ code: "runtime_closed" });
    await closed;
    await expect(runtime.fleet!.work(runtime)).rejects.toMatchObject({ code: "runtime_closed" });
  });
});
