import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Tool } from "../../src/index.ts";
import { Between, type Fate } from "./between.ts";
import { type Made, OwnedFleet, openOwner, ownersTools, SECRET } from "./owned-fleet.ts";

const TIMEOUT_MS = 300;
/** Of a worker: it waits for an answer for this long and two seconds beyond the tool's time. */
const PATIENCE = { ownerMs: 200 };

/** An owner whose tools have little time, behind a server that may hold its answers back. */
async function open(fates: readonly Fate[], act?: (call: Made) => unknown) {
  const made: Made[] = [];
  const stack = new AsyncDisposableStack();
  const tools = ownersTools(made, act).map((tool): Tool => ({ ...tool, timeoutMs: TIMEOUT_MS }));
  const owner = stack.use(await openOwner({ tools }));
  const between = stack.use(await Between.open(owner.url));
  between.fates.push(...fates);
  const fleet = stack.use(new OwnedFleet());
  const server = await fleet.runtime();
  const worker = await fleet.worker([between.url], PATIENCE);
  const submit = (program: string) => server.submit(program, { owner: { url: between.url, key: SECRET } });
  return { made, owner, between, server, worker, submit, fleet, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test("a handler that takes longer than its tool may is aborted at the owner, and the program is told by the owner's gate", async () => {
  const aborted = Promise.withResolvers<void>();
  await using one = await open([], async ({ context: { signal } }) => {
    await once(signal, "abort");
    aborted.resolve();
    await delay(5);
    return { n: "late" };
  });
  const id = await one.submit(
    "try { return await tools.crm.put({ n: 4 }); } catch (error) { return [error.code, error.message]; }",
  );
  expect((await one.server.wait(id)).report?.outcome).toEqual({
    type: "completed",
    value: [
      "handler_timed_out",
      `crm.put took longer than ${TIMEOUT_MS} ms and was aborted. It may have taken effect.`,
    ],
  });
  await aborted.promise;
  expect(one.made).toHaveLength(1);
});

test.each([
  ["run again, which gives the late answer of the one run", { allow: true }, { n: 4 }],
  ["not run", { allow: false }, "outcome_unknown"],
  ["told as done", { allow: true, done: { value: { n: 5 } } }, { n: 5 }],
] as const)(
  "a write whose answer comes after the deadline waits for a person, and is %s: it is made once",
  async (_, decision, value) => {
    await using one = await open(["late"]);
    const id = await one.submit("try { return await tools.crm.put({ n: 4 }); } catch (error) { return error.code; }");
    expect((await one.server.wait(id)).listed).toMatchObject({ state: "waiting", waitsFor: ["crm.put"] });
    const { records } = await one.server.journal.find(id);
    one.between.released.resolve();
    expect(await one.server.journal.find(id)).toMatchObject({ records });
    await one.server.decide(id, { 1: decision });
    expect((await one.server.wait(id)).report?.outcome).toEqual({ type: "completed", value });
    expect(one.made).toHaveLength(1);
  },
);

test("a read whose answer comes after the deadline leaves its execution, which goes on with the answer of the one run", async () => {
  await using one = await open(["late"]);
  const id = await one.submit("return await tools.crm.get({ n: 4 });");
  expect((await one.server.wait(id)).report?.outcome).toEqual({ type: "completed", value: { n: 4 } });
  expect(one.made).toHaveLength(1);
});

test("an owner that takes the question for approval and is silent has its execution left until it answers", async () => {
  await using one = await open([]);
  one.between.onPassed = () => (one.between.isSilent = true);
  const id = await one.submit("await tools.crm.get({ n: 1 }); return await tools.pay({ n: 5 });");
  await expect
    .poll(() => one.fleet.errors.map(({ message }) => message), { timeout: 60_000 })
    .toContainEqual(expect.stringMatching(/^Execution .* waits for its owner .*: it does not answer/) as string);
  expect(one.made).toHaveLength(1);
  one.between.onPassed = () => {};
  one.between.isSilent = false;
  expect((await one.server.wait(id)).report?.outcome).toEqual({ type: "completed", value: { n: 5 } });
  expect(one.made).toHaveLength(2);
}, 120_000);

test("a call that runs while its worker is drained is not cancelled: the next worker has the answer of the one run", async () => {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  await using one = await open([], async ({ context: { signal }, input }) => {
    begun.resolve();
    await end.promise;
    signal.throwIfAborted();
    return input;
  });
  const id = await one.submit("return await tools.crm.get({ n: 4 });");
  await begun.promise;
  expect(await one.worker.drain(0)).toBe(1);
  await one.fleet.worker([one.between.url], PATIENCE);
  await expect.poll(() => one.between.seen.filter((path) => path === "/v1/calls").length).toBe(2);
  end.resolve();
  expect((await one.server.wait(id)).report?.outcome).toEqual({ type: "completed", value: { n: 4 } });
  expect(one.made).toHaveLength(1);
});

test("a call of a program that has ended is cancelled at its owner", async () => {
  const aborted = Promise.withResolvers<unknown>();
  await using one = await open([], async ({ name, input, context: { signal } }) => {
    if (name === "crm.get") return input;
    await once(signal, "abort");
    aborted.resolve(signal.reason);
    throw signal.reason;
  });
  const id = await one.submit(
    "void tools.crm.keep({ n: 1 }).catch(() => {}); await tools.crm.get({ n: 4 }); throw new Error('over');",
  );
  await one.server.wait(id);
  expect(await aborted.promise).toMatchObject({ message: expect.any(String) as string });
  await expect.poll(() => one.owner.running).toBe(0);
});

test.each([
  ["crm.keep", { type: "completed", value: { n: 4 } }],
  ["crm.put", { type: "waiting" }],
] as const)(
  "a call of %s that its owner cancels, because it ends, is as one of an owner that died",
  async (tool, outcome) => {
    const begun = Promise.withResolvers<void>();
    await using one = await open([], async ({ context: { signal }, input }) => {
      if (one.made.length > 1) return input;
      begun.resolve();
      await once(signal, "abort");
      throw signal.reason;
    });
    await using next = await openOwner({ tools: ownersTools(one.made) });
    const id = await one.submit(`return await tools.${tool}({ n: 4 });`);
    await begun.promise;
    one.between.onPassed = () => (one.between.target = next.url);
    await one.owner[Symbol.asyncDispose]();
    expect((await one.server.wait(id)).report?.outcome).toMatchObject(outcome);
    expect(one.made).toHaveLength(tool === "crm.put" ? 1 : 2);
  },
);
