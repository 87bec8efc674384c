import { expect, test } from "vitest";
import { content } from "../../src/index.ts";
import { type Made, OwnedFleet, openOwner, ownersTools, SECRET } from "./owned-fleet.ts";

/*
 * With the tests beside it, it holds `src/owners/ask-owner.ts`, `src/owners/declarations.ts`, `src/owners/owned-calls.ts`,
 * `src/owners/owned-context.ts`, `src/owners/owned-tools.ts`, `src/owners/owner-options.ts`, `src/owners/owner-server.ts`,
 * `src/owners/owner.ts`, `src/owners/owner-gate.ts`, `src/owners/submit-with-owner.ts`, `src/owners/wire.ts`, `src/programs/owned.ts` and
 * `src/gate/run/failed-elsewhere.ts`.
 */

test("a worker without tools has the calls of a program made by its owner, with the facts of its own journal", async () => {
  const made: Made[] = [];
  await using owner = await openOwner({ tools: ownersTools(made), context: (one) => ({ db: `of ${one.tenant}` }) });
  await using fleet = new OwnedFleet();
  const server = await fleet.runtime();
  await fleet.worker([owner.url]);
  const id = await server.submit(
    "const a = await tools.crm.get({ n: 1 }); return (await tools.crm.put({ n: 2 })).n + a.n;",
    { owner, tenant: "acme" },
  );
  const { report } = await server.wait(id, { tenant: "acme" });
  expect(report?.outcome).toEqual({ type: "completed", value: 3 });
  expect(made.map(({ name, input }) => [name, input])).toEqual([
    ["crm.get", { n: 1 }],
    ["crm.put", { n: 2 }],
  ]);
  const [first] = made;
  expect(first?.context).toMatchObject({
    execution: id,
    callId: "1",
    tenant: "acme",
    effect: "read",
    caller: "programmatic",
    context: { db: "of acme" },
  });
  expect(first?.context.idempotencyKey).toMatch(new RegExp(`^${id}:1:[0-9a-f]{64}$`));
  expect(report?.calls.map(({ tool }) => tool)).toEqual(["crm.get", "crm.put"]);
  expect(fleet.errors).toEqual([]);
});

test("the owner's rules hold at the worker: approval by input, its clients, its schemas on both sides", async () => {
  const made: Made[] = [];
  await using owner = await openOwner({ tools: ownersTools(made) });
  await using fleet = new OwnedFleet();
  const server = await fleet.runtime();
  await fleet.worker([owner.url]);
  const id = await server.submit(
    `const said = [];
     said.push(await tools.pay({ n: 5 }));
     said.push(await tools.pay({ n: 500 }));
     for (const input of [{ n: 2 }, { n: 3 }, { n: 8 }, { n: "x" }]) try { said.push(await tools.even(input)); } catch (error) { said.push(error.code); }
     said.push(await tools.ask({ n: 1 }));
     return said;`,
    { owner },
  );
  expect((await server.wait(id)).listed).toMatchObject({ state: "waiting", waitsFor: ["pay"] });
  expect(made).toHaveLength(1);
  await server.decide(id, { 2: { allow: true, by: "ann" } });
  expect((await server.wait(id)).listed).toMatchObject({ state: "waiting", waitsFor: ["ask"] });
  await server.answer(id, { 7: { value: 7 } });
  expect((await server.wait(id)).report?.outcome).toEqual({
    type: "completed",
    value: [{ n: 5 }, { n: 500 }, 4, "handler_failed", "output_invalid", "input_invalid", 7],
  });
});

test("an owner in another process is reached by its address and the secret; a wrong secret, or none there, is a sentence", async () => {
  await using owner = await openOwner({ tools: ownersTools([]) });
  await using fleet = new OwnedFleet();
  const server = await fleet.runtime();
  await fleet.worker([owner.url]);
  const id = await server.submit("return await tools.crm.get({ n: 1 });", {
    owner: { url: `${owner.url}/`, key: SECRET },
    tools: ["crm.*"],
  });
  expect((await server.wait(id)).report?.outcome).toEqual({ type: "completed", value: { n: 1 } });
  await expect(
    server.submit("return 1;", { owner: { url: owner.url, key: "another-secret-of-24-characters" } }),
  ).rejects.toMatchObject({
    code: "owner_unavailable",
    message: expect.stringContaining("This is no key of this owner") as string,
  });
  await expect(server.submit("return 1;", { owner: { url: "http://127.0.0.1:1", key: SECRET } })).rejects.toMatchObject(
    {
      code: "owner_unavailable",
      message: expect.stringContaining("does not answer") as string,
    },
  );
  await expect(server.submit("return 1;", { owner: { url: owner.url, key: "short" } })).rejects.toMatchObject({
    code: "option_invalid",
  });
  await expect(server.submit("return 1;", { owner, tools: ["crm.none"] })).rejects.toMatchObject({
    code: "option_invalid",
  });
});

test("what a handler shows to people reaches the report; a program gets the value, also of an image and of a failure", async () => {
  const answers = [
    content({ value: { n: 1 }, display: { text: "one" }, source: "db:1" }),
    content({ parts: [{ type: "image", mediaType: "image/png", data: new Uint8Array([1, 2, 3]), name: "a.png" }] }),
    content({ value: { why: "none" }, isError: true, source: "db:2" }),
  ];
  await using owner = await openOwner({ tools: ownersTools([], () => answers.shift()) });
  await using fleet = new OwnedFleet();
  const server = await fleet.runtime();
  await fleet.worker([owner.url]);
  const id = await server.submit(
    `const { n } = await tools.crm.get({ n: 1 });
     const image = await tools.crm.get({ n: 2 });
     const failed = await tools.crm.get({ n: 3 }).catch(({ code, value }) => ({ code, value }));
     return { n, image, failed };`,
    { owner },
  );
  const { report } = await server.wait(id);
  expect(report?.outcome).toEqual({
    type: "completed",
    value: {
      n: 1,
      image: { parts: [{ type: "image", name: "a.png", mediaType: "image/png", bytes: 3 }] },
      failed: { code: "handler_failed", value: { why: "none" } },
    },
  });
  expect(report?.calls[0]).toMatchObject({ display: { text: "one" } });
});

test("a question of a handler is declined, and the owner's operator is told what to do in its place", async () => {
  const told: unknown[] = [];
  const tools = ownersTools([], async ({ context }) => ({ asked: await context.ask({ sure: true }) }));
  await using owner = await openOwner({ tools, onError: (error) => told.push(error) });
  await using fleet = new OwnedFleet();
  const server = await fleet.runtime();
  await fleet.worker([owner.url]);
  const id = await server.submit("return await tools.crm.get({ n: 1 });", { owner });
  expect((await server.wait(id)).report?.outcome).toEqual({ type: "completed", value: { asked: false } });
  expect(told).toMatchObject([
    {
      code: "option_invalid",
      message: expect.stringMatching(
        /^crm\.get: its handler asks a question .* Give the tool an approval rule/,
      ) as string,
    },
  ]);
});
