import { useFleets } from "../../fleet/use-fleets.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { createMemorySandbox } from "portcullis/testing";
import { describe, expect, test, vi } from "vitest";
import { keyOf } from "../servers.ts";
import { BOSS, endingOf, type Host, keys, PROGRAM, SMALL, talker, type World, world } from "./world.ts";

/** A driver after the first: it takes up what waits, once it is decided. */
interface Driver {
  readonly name: string;
  /** Whether it has the keys, and so knows what the key may do now. */
  readonly hasKeys: boolean;
  readonly isFleet?: boolean;
  readonly drive: (given: Driven) => Promise<void>;
}

interface Driven {
  readonly here: World;
  readonly id: string;
  /** The id of the call that waits, as who decides it writes it. */
  readonly call: string;
  readonly isTalk: boolean;
  /** A server with these keys. */
  readonly server: () => Promise<Host>;
}

const ALLOW = { allow: true };

async function decided(driven: Driven, host: Host): Promise<void> {
  const { here, id, call } = driven;
  const body = { decisions: { [call]: ALLOW } };
  const shown = id.slice(id.indexOf(":") + 1);
  expect((await host.as("boss")("POST", `/v1/executions/${shown}/decisions`, body)).status).toBe(200);
  await expect.poll(() => over(here, id)).toBe(true);
}

/** Whether an execution has ended, or rests after an answer. */
async function over({ journal }: World, id: string): Promise<boolean> {
  if ((await journal.find(id)).ended) return true;
  let last: string | undefined;
  for await (const record of journal.read(id)) last = record.type;
  return last === "rest";
}

const noted = async ({ here, id, call }: Driven) => {
  const runtime = await here.open();
  await runtime.execution(id, { tenant: "acme" }).decide({ [call]: ALLOW });
  return runtime;
};

const model = () => talker();

const DRIVERS: readonly Driver[] = [
  { name: "a decision at a server", hasKeys: true, drive: async (d) => decided(d, await d.server()) },
  {
    name: "recover of a server that was started anew",
    hasKeys: true,
    drive: async (d) => {
      await noted(d);
      await (await d.server()).server.recover();
    },
  },
  {
    name: "a worker in a server of a fleet",
    hasKeys: true,
    isFleet: true,
    drive: async (d) => {
      const { server } = await d.server();
      await server.listen({ port: 0 });
      await noted(d);
      await expect.poll(() => over(d.here, d.id)).toBe(true);
    },
  },
  {
    name: "a worker of a fleet in another process",
    hasKeys: false,
    isFleet: true,
    drive: async (d) => {
      const runtime = await d.here.open();
      await using _ = await runtime.fleet!.work(runtime, { model });
      await noted(d);
      await expect.poll(() => over(d.here, d.id)).toBe(true);
    },
  },
  {
    name: "resume of a host",
    hasKeys: false,
    drive: async ({ here, id, call, isTalk }) => {
      const runtime = await here.open();
      const options = { decisions: { [call]: ALLOW } };
      const handle = runtime.execution(id, { tenant: "acme" });
      await (isTalk ? handle.resume({ ...options, model: model() }) : handle.resume(options));
    },
  },
  {
    name: "recover of a host",
    hasKeys: false,
    drive: async (d) => {
      const runtime = await noted(d);
      for await (const one of runtime.recover({ model })) expect(one).not.toHaveProperty("error");
    },
  },
];

const KINDS = ["program", "conversation"] as const;

const share = noPostgres ? undefined : useFleets();

describe.each(DRIVERS.filter(({ isFleet }) => share || !isFleet))("$name", ({ hasKeys, isFleet = false, drive }) => {
  const open = async () => world(isFleet ? { fleets: await share?.() } : {});
  test.each(KINDS)("has no more than the key that began the %s", async (kind) => {
    await using here = await open();
    const driven = await begin(here, kind, keys(SMALL, BOSS));
    await drive(driven);
    expect(here.ran).toEqual(["ask programmatic", "free programmatic"]);
  });

  test.runIf(hasKeys).each(KINDS)("has no more than the key of the %s may do now", async (kind) => {
    await using here = await open();
    const changed = { ...SMALL, tools: ["ask", "other"], allowedCallers: undefined };
    await drive(await begin(here, kind, keys(changed, BOSS)));
    expect(here.ran).toEqual(["ask programmatic"]);
  });

  test.runIf(hasKeys).each(KINDS)("ends the %s of a key that is gone, and runs nothing of it", async (kind) => {
    await using here = await open();
    const driven = await begin(here, kind, keys(BOSS));
    await drive(driven);
    expect(here.ran).toEqual([]);
    expect(await endingOf(here.journal, driven.id)).toEqual({ type: "cancelled", code: "key_revoked" });
  });

  test.each([
    ["leaves what the limits of a key were to what it began with", 2, 9],
    ...(hasKeys ? [["takes what the limits of a key are now, if they are less", undefined, 2] as const] : []),
  ] as const)("%s", async (_, before, now) => {
    await using here = await open();
    const limited = (calls: number | undefined) => (calls === undefined ? SMALL : { ...SMALL, limits: { calls } });
    await drive(await begin(here, "program", keys(limited(now), BOSS), limited(before), BUSY));
    expect(here.ran).toEqual(["ask programmatic", "free programmatic"]);
  });
});

const BUSY = `await tools.ask({}); for (let n = 0; n < 5; n += 1) try { await tools.free({}) } catch {}`;

async function begin(
  here: World,
  kind: (typeof KINDS)[number],
  later: object,
  small: object = SMALL,
  program = PROGRAM,
): Promise<Driven> {
  const isTalk = kind === "conversation";
  const isFleet = (await here.open()).fleet !== undefined;
  {
    const first = await here.serve({ keys: keys(small, BOSS), model: talker() });
    if (isFleet) await first.server.listen({ port: 0 });
    const begun = isTalk
      ? await first.as("small")("POST", "/v1/conversations", { message: "go", id: "e", wait: true })
      : await first.as("small")("POST", "/v1/executions", { program, id: "e", wait: true });
    expect([begun.status, begun.json.state], begun.text).toEqual([200, "waiting"]);
    await first.server.close({ drainMs: 0 });
  }
  const id = await here.root();
  return {
    here,
    id,
    call: isTalk ? "call-1/1" : "1",
    isTalk,
    server: () => here.serve({ keys: later, model: talker() }),
  };
}

test("the header of an execution says whose it is, and what of its tools, callers and limits it has", async () => {
  await using here = world();
  const { id } = await begin(here, "program", keys(SMALL), { ...SMALL, limits: { calls: 7 } });
  for await (const header of here.journal.read(id)) {
    expect(header).toMatchObject({
      owner: { key: "small" },
      limits: { calls: 7 },
      tools: [
        { name: "ask", callers: ["programmatic"] },
        { name: "free", callers: ["programmatic"] },
      ],
    });
    break;
  }
});

test("a host has no more than what is in the header, also of limits, and of limits of the machine no more than it allows", async () => {
  await using here = world();
  const [less, more] = [2 ** 27, 2 ** 28];
  const began = await here.open({ limits: { memoryBytes: less, calls: 5, outputBytes: 1000 } });
  await began.execute(BUSY, { id: "e" });
  const sandbox = createMemorySandbox();
  const opened = vi.spyOn(sandbox, "open");
  const other = await here.open({ sandbox, limits: { memoryBytes: more, calls: 3, outputBytes: 100 } });
  await other.execution("e").resume({ decisions: { 1: ALLOW } });
  expect(opened.mock.calls[0]?.[0]).toMatchObject({ limits: { memoryBytes: less, logBytes: 500 } });
  expect(here.ran).toEqual(["ask programmatic", "free programmatic", "free programmatic"]);
});

const token = keyOf("the-only-client");
const decision = { body: { decisions: { 1: ALLOW } } };

test.each(["code of the host", "the client of a server without keys"])(
  "a server with keys drives nothing that %s has begun for a tenant of its keys, and takes no decision about it",
  async (who) => {
    await using here = world();
    const { runtime, ask } = await here.serve({ token }, { tenant: "acme" });
    if (who === "code of the host") await runtime.execute(PROGRAM, { id: "e" });
    else await ask("POST", "/v1/executions", { key: token, body: { program: PROGRAM, id: "e" } });
    const { ask: decide, server } = await here.serve({ keys: keys(BOSS) });
    await server.recover();
    for (const [path, body] of [
      ["decisions", decision.body],
      ["cancel", {}],
    ] as const) {
      const { status, json } = await decide("POST", `/v1/executions/e/${path}`, { key: keyOf("boss"), body });
      expect([status, json.error.code]).toEqual([409, "execution_driven"]);
    }
    expect(here.ran).toEqual([]);
  },
);

test("a decision about what a key has begun is refused by a server without keys, which could not go on with it", async () => {
  await using here = world();
  const { id } = await begin(here, "program", keys(SMALL));
  const { ask } = await here.serve({ token }, { tenant: "acme" });
  const before = await here.journal.find(id);
  const { status, json } = await ask("POST", "/v1/executions/e/decisions", { key: token, ...decision });
  expect([status, json.error.code]).toEqual([409, "execution_driven"]);
  expect(await here.journal.find(id)).toEqual(before);
});

test.runIf(share)("a server of a fleet drives what code of the host submits for a tenant of its keys", async () => {
  await using here = world({ fleets: await share?.() });
  const { runtime, server } = await here.serve({ keys: keys(BOSS) });
  await server.listen({ port: 0 });
  const id = await runtime.fleet!.submit(runtime, "return await tools.other({})", { tenant: "acme" });
  expect((await runtime.execution(id, { tenant: "acme" }).wait()).listed.outcome).toBe("completed");
});
