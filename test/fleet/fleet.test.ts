import { describe, expect, test } from "vitest";
import { viewExecution } from "../../src/serve/views/view-execution.ts";
import { z } from "zod";
import type { FleetJournal } from "../../src/fleet/fleet-journal.ts";
import { createFleet, type Fleet, createPostgresJournal } from "../../src/fleet/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createRuntime, createSqliteJournal, type Runtime, type RuntimeOptions, type Tool } from "../../src/index.ts";
import type { ExecutionStatus } from "../../src/runtime/reports.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { testOfAll } from "../support/all-tests.ts";
import { noPostgres } from "../postgres-support/postgres-server.ts";
import { failing } from "../support/failing.ts";
import { makeTool, tool } from "../support/tools.ts";
import { useFleets } from "./use-fleets.ts";

function makeTools(made: string[] = []) {
  const write = (_: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) => {
    made.push(idempotencyKey);
    return made.length;
  };
  return [
    makeTool({ inputSchema: z.object({ n: z.number() }), name: "double", execute: ({ n }) => n * 2 }),
    makeTool({ name: "pay", effect: "write", approval: "always", execute: write }),
    makeTool({ name: "ask", execute: "client" }),
  ];
}

const SUM = "let sum = 0; for (let n = 1; n <= 3; n += 1) sum += await tools.double({ n }); return sum;";

describe.skipIf(noPostgres)("a fleet", () => {
  const share = useFleets();
  const open = (fleet: Fleet, options: Partial<RuntimeOptions> = {}) =>
    createRuntime({
      tools: makeTools(),
      sandbox: createMemorySandbox(),
      approve: () => "later",
      leaseMs: 1000,
      logger: { error: () => {} },
      fleet,
      ...options,
    });
  const work = (runtime: Runtime, more: object = {}) =>
    runtime.fleet!.work(runtime, { reconcileMs: 100, onError: (error) => expect.unreachable(String(error)), ...more });
  const valueOf = ({ report }: ExecutionStatus) => report?.outcome;

  test("a worker drives what another process has submitted, and ends its wake", async () => {
    await using shared = await share();
    await using server = await open(shared.join());
    const id = await server.fleet!.submit(server, SUM);
    expect((await server.execution(id).status()).listed).toMatchObject({ state: "running", driven: false, records: 1 });
    expect(await shared.wakes()).toBe(1);
    await using runtime = await open(shared.join());
    await using _ = await work(runtime);
    expect(valueOf(await server.execution(id).wait())).toEqual({ type: "completed", value: 12 });
    await expect.poll(() => shared.wakes()).toBe(0);
  });

  test("wait resolves while an execution waits, and again at its end once it was decided", async () => {
    await using shared = await share();
    const made: string[] = [];
    await using server = await open(shared.join());
    await using runtime = await open(shared.join(), { tools: makeTools(made) });
    await using _ = await work(runtime);
    const id = await server.fleet!.submit(
      server,
      "const paid = await tools.pay({ n: 1 }); const units = await tools.ask({ n: 2 }); return [paid, units];",
    );
    const waiting = await server.execution(id).wait();
    expect(waiting.listed).toMatchObject({ state: "waiting", waitsFor: ["pay"] });
    expect(made).toEqual([]);
    await server.execution(id).decide({ 1: { allow: true, by: "ann" } });
    expect((await server.execution(id).wait()).listed).toMatchObject({ state: "waiting", waitsFor: ["ask"] });
    await server.execution(id).answer({ 2: { value: 7 } });
    expect(valueOf(await server.execution(id).wait())).toEqual({ type: "completed", value: [1, 7] });
    expect(made).toHaveLength(1);
  });

  test("a program that is submitted after one of another tenant, an open or an unknown one is refused, and nothing is woken", async () => {
    await using shared = await share();
    await using server = await open(shared.join());
    await using runtime = await open(shared.join());
    await using _ = await work(runtime);
    const waiting = await server.fleet!.submit(server, "return tools.ask({ n: 1 });");
    await server.execution(waiting).wait();
    const ended = await server.fleet!.submit(server, SUM, { tenant: "acme" });
    await server.execution(ended, { tenant: "acme" }).wait();
    await expect.poll(() => shared.wakes()).toBe(0);
    const refused = { [waiting]: "execution_open", [ended]: "execution_unknown", "no-such": "execution_unknown" };
    for (const [corrects, code] of Object.entries(refused))
      await expect(server.fleet!.submit(server, SUM, { corrects })).rejects.toMatchObject({ code });
    expect(await shared.wakes()).toBe(0);
  });

  test("a waiting execution rests: no wake, and no reconciler, brings it to a worker again", async () => {
    await using shared = await share();
    const fleet = shared.join();
    await using runtime = await open(fleet);
    await using _ = await work(runtime);
    const id = await runtime.fleet!.submit(runtime, "return tools.ask({ n: 1 });");
    await runtime.execution(id).wait();
    const { rows } = fleet.journal as FleetJournal;
    await expect.poll(() => rows.lost(0)).toEqual([]);
    await expect.poll(() => shared.wakes()).toBe(0);
    const { records } = await fleet.journal.find(id);
    await runtime.execution(id).answer({ 1: { value: 1 } });
    await runtime.execution(id).wait();
    expect((await fleet.journal.find(id)).records).toBeGreaterThan(records);
  });

  test("what was submitted and decided goes on although all wakes are lost", async () => {
    await using shared = await share();
    await using server = await open(shared.join());
    const ids = await Promise.all([1, 2, 3].map(() => server.fleet!.submit(server, "return tools.ask({ n: 1 });")));
    await shared.loseWakes();
    await using runtime = await open(shared.join());
    await using _ = await work(runtime);
    for (const id of ids) expect((await server.execution(id).wait()).listed.state).toBe("waiting");
    for (const id of ids) await server.execution(id).answer({ 1: { value: 5 } });
    await shared.loseWakes();
    for (const id of ids) expect(valueOf(await server.execution(id).wait())).toEqual({ type: "completed", value: 5 });
  });

  test("a worker that ends leaves what it drives to another one at once", async () => {
    await using shared = await share();
    await using server = await open(shared.join());
    const begun = Promise.withResolvers<void>();
    const slow = tool("slow", async (_, { signal }) => {
      begun.resolve();
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    });
    const quick = tool("slow", () => 3);
    await using submitter = await open(shared.join(), { tools: [slow] });
    const first = await open(shared.join(), { tools: [slow], leaseMs: 600_000 });
    const firstWorker = await work(first);
    const id = await submitter.fleet!.submit(submitter, "return tools.slow({ n: 1 });");
    await begun.promise;
    await using second = await open(shared.join(), { tools: [quick] });
    await using _ = await work(second, { reconcileMs: 3_600_000 });
    expect(await firstWorker.drain(60_000)).toBe(1);
    expect(valueOf(await server.execution(id).wait())).toEqual({ type: "completed", value: 3 });
    await first[Symbol.asyncDispose]();
  });

  testOfAll("a worker that ends waits for the result of a write, and nothing more of its program", async () => {
    await using shared = await share();
    const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const made: string[] = [];
    const write: Tool["execute"] = async (_, { idempotencyKey }) => {
      made.push(idempotencyKey);
      begun.resolve();
      await finish.promise;
      return made.length;
    };
    const put = tool("put", write, { effect: "write" });
    await using runtime = await open(shared.join(), { tools: [put] });
    const worker = await work(runtime);
    const id = await runtime.fleet!.submit(runtime, "return [await tools.put({ n: 1 }), await tools.put({ n: 2 })];");
    await begun.promise;
    const drained = worker.drain(60_000);
    finish.resolve();
    expect(await drained).toBe(1);
    expect(made).toHaveLength(1);
    await using _ = await work(runtime);
    expect(valueOf(await runtime.execution(id).wait())).toEqual({ type: "completed", value: [1, 2] });
    expect(new Set(made).size).toBe(2);
  });

  test("a submission again is the same execution, and another program under its id is refused", async () => {
    await using shared = await share();
    await using server = await open(shared.join());
    expect(await server.fleet!.submit(server, SUM, { id: "one" })).toBe("one");
    expect(await server.fleet!.submit(server, SUM, { id: "one" })).toBe("one");
    await expect(server.fleet!.submit(server, "return 1;", { id: "one" })).rejects.toMatchObject({
      code: "execution_exists",
    });
    expect(await Array.fromAsync(server.executions.list())).toHaveLength(1);
  });

  test("a text that is larger than a program may be is refused as `execute` refuses it, and none of it is stored", async () => {
    await using shared = await share();
    await using server = await open(shared.join());
    const program = `return ${JSON.stringify("é".repeat(20_000))};`;
    const { outcome } = await server.execute(program);
    const message = outcome.type === "failed" ? outcome.fault.message : "";
    expect(message).toMatch(/400\d\d .*32768/);
    await expect(server.fleet!.submit(server, program)).rejects.toMatchObject({ code: "program_too_large", message });
    expect(await Array.fromAsync(server.executions.list())).toEqual([]);
    expect(await shared.wakes()).toBe(0);
  });

  test("a conversation whose host left it goes on with a worker that has its model, and with no other", async () => {
    await using shared = await share();
    const model = scriptedModel([
      { calls: [{ id: "c1", tool: "ask", input: { n: 1 } }] },
      ({ results }) => ({ text: results.map(({ text }) => text).join() }),
    ]);
    const tools = [makeTool({ name: "ask", allowedCallers: ["direct"], execute: "client" })];
    await using server = await open(shared.join(), { tools });
    const report = await server.agent({ model, task: "Work.", id: "talk" });
    expect(report.ending.type).toBe("waiting");
    await using without = await open(shared.join(), { tools });
    const told: unknown[] = [];
    await using _ = await work(without, { onError: (error: unknown) => told.push(error) });
    await server.execution("talk").answer({ c1: { value: 7 } });
    await expect
      .poll(async () => (await server.execution("talk").status()).listed)
      .toMatchObject({ state: "running", needs: { what: "model", names: ["scripted:script"] } });
    expect(String(told[0])).toContain('Conversation "talk" waits for a worker with its model scripted:script');
    await using runtime = await open(shared.join(), { tools });
    await using other = await work(runtime, { model: () => model });
    expect(other.driven).toBeLessThanOrEqual(1);
    const { conversation } = await server.execution("talk").wait();
    expect(conversation?.ending).toMatchObject({ type: "answered", answer: "7" });
  });

  test("an execution waits for a worker that has its tools, as they were defined, and the other worker says so once", async () => {
    await using shared = await share();
    await using server = await open(shared.join());
    const told: unknown[] = [];
    const other = [makeTool({ name: "double", inputSchema: z.object({ n: z.string() }) })];
    await using without = await open(shared.join(), { tools: other });
    await using _ = await work(without, { onError: (error: unknown) => told.push(error) });
    const id = await server.fleet!.submit(server, SUM);
    await expect.poll(() => told, { timeout: 10_000 }).toHaveLength(1);
    expect(told[0]).toMatchObject(failing("tools_changed", /gone: .*ask.*changed: double/));
    const needs = { what: "tools", names: ["pay", "ask", "double"] };
    const listed = async () => (await server.execution(id).status()).listed;
    await expect.poll(listed).toMatchObject({ state: "running", driven: false, needs });
    expect(await Array.fromAsync(server.executions.list())).toMatchObject([{ needs }]);
    expect(await viewExecution(server.journal, id)).toMatchObject({ needs });
    await using runtime = await open(shared.join());
    await using worker = await work(runtime);
    expect(valueOf(await server.execution(id).wait())).toEqual({ type: "completed", value: 12 });
    expect(told).toHaveLength(1);
    expect(worker.driven).toBeLessThanOrEqual(1);
    expect(await listed()).not.toHaveProperty("needs");
  });

  test("the last moment of a call that waits wakes its execution", async () => {
    await using shared = await share();
    await using runtime = await open(shared.join());
    await using _ = await work(runtime);
    const id = await runtime.fleet!.submit(runtime, "return tools.pay({ n: 1 }).catch(({ code }) => code);", {
      limits: { waitMs: 300 },
    });
    await runtime.execution(id).wait();
    const expired = { type: "completed", value: "approval_expired" };
    await expect
      .poll(async () => valueOf(await runtime.execution(id).status()), { timeout: 5000 })
      .toMatchObject(expired);
  });

  test("a tenant has no more executions at once than it may, and others begin meanwhile", async () => {
    await using shared = await share();
    const atOnce = { a: 0, b: 0 };
    const most = { ...atOnce };
    const release = Promise.withResolvers<void>();
    const busy = tool("busy", async (_, { tenant }) => {
      const key = tenant === "a" ? "a" : "b";
      atOnce[key] += 1;
      most[key] = Math.max(most[key], atOnce[key]);
      await release.promise;
      atOnce[key] -= 1;
    });
    await using runtime = await open(shared.join(), { tools: [busy] });
    const submit = (tenant: string) => runtime.fleet!.submit(runtime, "await tools.busy({ n: 1 });", { tenant });
    const ofA = await Promise.all(Array.from({ length: 6 }, () => submit("a")));
    await using _ = await work(runtime, { concurrency: 4, perTenant: 2 });
    await expect.poll(() => atOnce.a).toBe(2);
    const ofB = await submit("b");
    await expect.poll(() => atOnce.b).toBe(1);
    expect(most.a).toBe(2);
    release.resolve();
    for (const id of ofA) expect((await runtime.execution(id, { tenant: "a" }).wait()).listed.state).toBe("ended");
    expect((await runtime.execution(ofB, { tenant: "b" }).wait()).listed.state).toBe("ended");
    expect(most.a).toBe(2);
  });

  testOfAll("its figures tell what waits of each tenant, and what workers have room for and have claimed", async () => {
    await using shared = await share();
    const fleet = shared.join();
    await using server = await open(fleet);
    const ids = await Promise.all(
      ["a", "a", "b"].map(async (tenant) => [await server.fleet!.submit(server, SUM, { tenant }), tenant]),
    );
    const byTenant = async () => new Map((await fleet.figures()).queued.map(({ tenant, wakes }) => [tenant, wakes]));
    expect(Object.fromEntries(await byTenant())).toEqual({ a: 2, b: 1 });
    await using runtime = await open(shared.join());
    const worker = await work(runtime, { concurrency: 3 });
    for (const [id = "", tenant = ""] of ids)
      expect((await server.execution(id, { tenant }).wait()).listed.state).toBe("ended");
    await expect.poll(() => fleet.figures(), { timeout: 10_000 }).toMatchObject({ driven: 0, queued: [] });
    await worker.drain(0);
  });

  test("concurrency of a tool holds over all workers, and over a worker that ends", async () => {
    await using shared = await share();
    let [atOnce, most, begun] = [0, 0, 0];
    const few = async () => {
      begun += 1;
      most = Math.max(most, (atOnce += 1));
      await new Promise(setImmediate);
      atOnce -= 1;
    };
    const tools = [tool("few", few, { concurrency: 2 })];
    await using server = await open(shared.join(), { tools });
    const program = "await Promise.all([1, 2, 3].map((n) => tools.few({ n })));";
    const ids = await Promise.all(Array.from({ length: 12 }, () => server.fleet!.submit(server, program)));
    const first = await open(shared.join(), { tools });
    const firstWorker = await work(first, { concurrency: 4 });
    await using second = await open(shared.join(), { tools });
    await using _ = await work(second, { concurrency: 4 });
    await expect.poll(() => begun).toBeGreaterThan(1);
    await firstWorker.drain(60_000);
    await first[Symbol.asyncDispose]();
    for (const id of ids) expect((await server.execution(id).wait()).listed).toMatchObject({ outcome: "completed" });
    expect(most).toBe(2);
  });

  test("many workers drive each execution once", async () => {
    await using shared = await share();
    const made: string[] = [];
    const pay = tool("put", (_, { idempotencyKey }) => made.push(idempotencyKey), { effect: "write" });
    await using server = await open(shared.join(), { tools: [pay] });
    await using stack = new AsyncDisposableStack();
    for (let index = 0; index < 3; index += 1) {
      const runtime = stack.use(await open(shared.join(), { tools: [pay] }));
      stack.use(await work(runtime, { concurrency: 4 }));
    }
    const ids = await Promise.all(
      Array.from({ length: 40 }, () => server.fleet!.submit(server, "return tools.put({ n: 1 });")),
    );
    for (const id of ids) expect(valueOf(await server.execution(id).wait())).toMatchObject({ type: "completed" });
    expect(new Set(made).size).toBe(40);
    expect(made).toHaveLength(40);
  });
});

test("a fleet needs a journal that all its machines reach, and takes runtimes of its own alone", async () => {
  using journal = createSqliteJournal({ path: ":memory:" });
  expect(() => createFleet({ journal })).toThrow(/createFleet\(\{ journal \}\): a fleet needs a journal in PostgreSQL/);
  expect(() => createFleet({ journal: createMemoryJournal() })).toThrow(/needs a journal in PostgreSQL/);
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox() });
  const fleet = createFleet({ journal: createPostgresJournal({ url: "postgres://nowhere/x" }) });
  const isNone = "(runtime): expected a runtime of this fleet: createRuntime({ fleet })";
  await expect(fleet.submit(runtime, "return 1;")).rejects.toThrow(`submit${isNone}`);
  await expect(fleet.work(runtime)).rejects.toThrow(`work${isNone}`);
  await expect(fleet.work(undefined as never)).rejects.toThrow(`work${isNone}`);
  await expect(createRuntime({ tools: [], fleet, journal: createMemoryJournal() })).rejects.toThrow(
    "createRuntime: give a fleet or a journal",
  );
});
