import { expect, test } from "vitest";
import { Between, type Fate } from "./between.ts";
import { type Made, OwnedFleet, openOwner, ownersTools } from "./owned-fleet.ts";

async function open(fates: readonly Fate[], { replaces = false } = {}) {
  const made: Made[] = [];
  const stack = new AsyncDisposableStack();
  const first = stack.use(await openOwner({ tools: ownersTools(made) }));
  const second = stack.use(await openOwner({ tools: ownersTools(made) }));
  const between = stack.use(await Between.open(first.url));
  between.fates.push(...fates);
  if (replaces) between.onLost = () => (between.target = second.url);
  const fleet = stack.use(new OwnedFleet());
  const server = await fleet.runtime();
  await fleet.worker([between.url]);
  const submit = (program: string) =>
    server.submit(program, { owner: { url: between.url, key: "a-secret-of-24-characters-or-more" } });
  return { made, between, second, server, submit, fleet, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test.each([
  ["crm.get", "lost before", 1],
  ["crm.put", "lost before", 1],
  ["crm.keep", "lost after", 1],
  ["crm.get", "lost after", 1],
  ["crm.put", "lost after", 1],
] as const)(
  "a call of %s that was %s its effect is made once by an owner that is still there",
  async (tool, fate, times) => {
    await using one = await open([fate, fate]);
    const id = await one.submit(`return await tools.${tool}({ n: 4 });`);
    const { report } = await one.server.wait(id);
    expect(report?.outcome).toEqual({ type: "completed", value: { n: 4 } });
    expect(one.made).toHaveLength(times);
  },
);

test("reads and idempotent calls are made again by the next owner if theirs died", async () => {
  await using one = await open(["lost after"], { replaces: true });
  const id = await one.submit("return await tools.crm.keep({ n: 4 });");
  expect((await one.server.wait(id)).report?.outcome).toEqual({ type: "completed", value: { n: 4 } });
  expect(one.made.map(({ context }) => context.idempotencyKey)).toHaveLength(2);
  expect(new Set(one.made.map(({ context }) => context.idempotencyKey)).size).toBe(1);
});

test.each([
  ["run again", { allow: true }, { type: "completed", value: { n: 4 } }, 2],
  ["not run", { allow: false }, { type: "completed", value: "outcome_unknown" }, 1],
] as const)(
  "a write waits for a person if its owner died after its effect, and is %s as decided",
  async (_, decision, outcome, times) => {
    await using one = await open(["lost after"], { replaces: true });
    const id = await one.submit("try { return await tools.crm.put({ n: 4 }); } catch (error) { return error.code; }");
    const waiting = await one.server.wait(id);
    expect(waiting.listed).toMatchObject({ state: "waiting", waitsFor: ["crm.put"] });
    expect(one.made).toHaveLength(1);
    await one.server.decide(id, { 1: decision });
    expect((await one.server.wait(id)).report?.outcome).toEqual(outcome);
    expect(one.made).toHaveLength(times);
  },
);

const DEAD = "http://127.0.0.1:1";

test("an execution whose owner is gone waits without a worker, and goes on once the owner is back", async () => {
  await using one = await open([]);
  const { between, fleet } = one;
  const back = between.target;
  const id = await one.submit(
    "const a = await tools.crm.get({ n: 1 }); const b = await tools.crm.keep({ n: 2 }); return [a, b];",
  );
  between.onPassed = () => (between.target = DEAD);
  await expect
    .poll(() => fleet.errors.map(({ message }) => message), { timeout: 20_000 })
    .toContainEqual(
      expect.stringMatching(
        /^Execution .* waits for its owner http.*: it does not answer .*\. Start it, or check its address\.$/,
      ),
    );
  expect((await one.server.status(id)).listed).toMatchObject({ state: "running", driven: false });
  expect(one.made).toHaveLength(1);
  between.onPassed = () => {};
  between.target = back;
  expect((await one.server.wait(id)).report?.outcome).toEqual({ type: "completed", value: [{ n: 1 }, { n: 2 }] });
  expect(one.made).toHaveLength(2);
});

test("a write that was never sent fails, and nothing was done; the program goes on with that", async () => {
  await using one = await open([]);
  one.between.onPassed = () => void one.between[Symbol.asyncDispose]();
  const id = await one.submit(
    "await tools.crm.get({ n: 1 }); try { await tools.crm.put({ n: 2 }); } catch (error) { return [error.code, error.message]; }",
  );
  expect((await one.server.wait(id)).report?.outcome).toEqual({
    type: "completed",
    value: ["source_unavailable", "crm.put failed: its owner cannot be reached. Nothing was done."],
  });
  expect(one.made).toHaveLength(1);
});

test("a write that may have arrived at an owner that is gone waits for a person", async () => {
  await using one = await open([]);
  const back = one.between.target;
  one.between.onPassed = () => (one.between.target = DEAD);
  const id = await one.submit("await tools.crm.get({ n: 1 }); return await tools.crm.put({ n: 2 });");
  expect((await one.server.wait(id)).listed).toMatchObject({ state: "waiting", waitsFor: ["crm.put"] });
  one.between.target = back;
  await one.server.decide(id, { 2: { allow: true, done: { value: { n: "was there" } } } });
  expect((await one.server.wait(id)).report?.outcome).toEqual({ type: "completed", value: { n: "was there" } });
});

test("an owner with another secret than the one that submitted is told in a sentence, and nothing is lost", async () => {
  await using one = await open([]);
  await using other = await openOwner({ tools: ownersTools(one.made), key: "another-secret-of-24-characters" });
  const { between, fleet } = one;
  between.onPassed = () => (between.target = other.url);
  const back = between.target;
  const id = await one.submit("await tools.crm.get({ n: 1 }); return await tools.crm.keep({ n: 2 });");
  await expect
    .poll(() => fleet.errors.map(({ message }) => message), { timeout: 20_000 })
    .toContainEqual(
      expect.stringMatching(
        /^Execution .* waits for its owner .*: it answers: This is no key of this owner\. The process that submits/,
      ),
    );
  between.onPassed = () => {};
  between.target = back;
  expect((await one.server.wait(id)).report?.outcome).toEqual({ type: "completed", value: { n: 2 } });
});

test("an execution whose owner this worker may not call waits for one that may", async () => {
  await using owner = await openOwner({ tools: ownersTools([]) });
  await using fleet = new OwnedFleet();
  const server = await fleet.runtime();
  await fleet.worker(["http://127.0.0.1:2"]);
  const id = await server.submit("return await tools.crm.get({ n: 1 });", { owner });
  await expect
    .poll(() => fleet.errors.map(({ message }) => message))
    .toContainEqual(
      expect.stringContaining(
        "this process may not call it. Name it with createRuntime({ owners }), or portcullis worker --owner.",
      ) as string,
    );
  await fleet.worker([owner.url]);
  expect((await server.wait(id)).report?.outcome).toEqual({ type: "completed", value: { n: 1 } });
});

test.each([
  ["takes a tool for a write that was a read", { effect: "write" }, ["source_unavailable", false]],
  ["has another text for models", { description: "another" }, { n: 2 }],
] as const)("of an owner that %s since, calls are made only if that changes nothing", async (_, changed, value) => {
  await using one = await open([]);
  const tools = ownersTools(one.made).map((tool) => (tool.name === "crm.get" ? { ...tool, ...changed } : tool));
  await using next = await openOwner({ tools });
  one.between.onPassed = () => (one.between.target = next.url);
  const id = await one.submit(
    `await tools.crm.get({ n: 1 });
     try { return await tools.crm.get({ n: 2 }); } catch ({ code, message }) { return [code, !message.includes("It defines the tool otherwise now. Nothing was done")]; }`,
  );
  expect((await one.server.wait(id)).report?.outcome).toEqual({ type: "completed", value });
  expect(one.made).toHaveLength("effect" in changed ? 1 : 2);
});
