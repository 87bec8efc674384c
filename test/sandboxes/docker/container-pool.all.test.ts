import { afterEach, describe, expect, test } from "vitest";
import type { ContainerGuest } from "../../../src/sandboxes/docker/container/container-guest.ts";
import { containerLimits } from "../../../src/sandboxes/docker/container/container-limits.ts";
import { ContainerPool } from "../../../src/sandboxes/docker/container-pool.ts";
import { Daemon, DaemonTimeout } from "../../../src/sandboxes/docker/daemon.ts";
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import type { Guest } from "../../../src/sandboxes/sandbox.ts";
import { containersOf, removeContainersOf } from "../../docker-support/containers.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";
import { heardUntil, iterate, LIMITS, openGuest, runIn } from "../../support/guests.ts";

const MIB = 1024 * 1024;

async function idOf(guest: Guest): Promise<string> {
  const { id } = guest as ContainerGuest;
  return (await new Daemon().ask((docker) => docker.getContainer(id).inspect())).Id;
}

describe.skipIf(needDockerEngine() !== undefined)("the containers of a sandbox", () => {
  afterEach(() => removeContainersOf());

  test("are removed right after their program's end, and never serve a second one", async () => {
    await using sandbox = createDockerSandbox();
    const seen = new Set<string>();
    for (let run = 0; run < 2; run += 1) {
      const guest = await openGuest(sandbox);
      for (const id of await containersOf()) seen.add(id);
      await runIn(guest);
      expect(await guest.exit).toEqual({ type: "released" });
      await expect.poll(() => containersOf()).toEqual([]);
    }
    expect(seen.size).toBe(2);
  });

  test("are started ahead, as many as `warm` says", async () => {
    await using sandbox = createDockerSandbox({ warm: 1 });
    const usual = { memoryBytes: 128 * MIB, frameBytes: MIB };
    await sandbox.warm?.();
    const ready = await containersOf();
    await using guest = await openGuest(sandbox, "a", usual);
    expect(ready).toContain(await idOf(guest));
    await expect.poll(() => sandbox.load).toMatchObject({ guests: 2, idle: 1 });
  });

  test("stay warm for two kinds of programs, and give way to a third", async () => {
    await using sandbox = createDockerSandbox({ warm: 1 });
    await sandbox.warm?.();
    const [usual] = await containersOf();
    await using second = await openGuest(sandbox, "a", { ...LIMITS, memoryBytes: 32 * MIB });
    await expect.poll(() => sandbox.load).toMatchObject({ idle: 2 });
    expect(await containersOf()).toContain(usual);
    second.kill("seen");
    await using third = await openGuest(sandbox, "a", { ...LIMITS, memoryBytes: 48 * MIB });
    await expect.poll(() => containersOf()).not.toContain(usual);
    third.kill("seen");
  });

  test("are no more than allowed; later programs wait, and may give up waiting", async () => {
    await using sandbox = createDockerSandbox({ containers: 1 });
    const first = await openGuest(sandbox);
    const giveUp = new AbortController();
    const second = sandbox.open({ language: "javascript", limits: LIMITS, tenant: "a" }, giveUp.signal);
    const third = openGuest(sandbox);
    await expect.poll(() => sandbox.load).toMatchObject({ guests: 1, waiting: 2 });
    giveUp.abort(new Error("too slow"));
    await expect(second).rejects.toThrow("too slow");
    first.kill("done");
    await using guest = await third;
    expect((await heardUntil(iterate(guest), "ready")).length).toBe(1);
  });

  test("that no program waits for any more are removed once they have started", async () => {
    await using sandbox = createDockerSandbox();
    await sandbox.warm?.();
    const giveUp = new AbortController();
    const opening = sandbox.open({ language: "javascript", limits: LIMITS, tenant: "a" }, giveUp.signal);
    await expect.poll(() => sandbox.load?.guests).toBe(1);
    giveUp.abort(new Error("too slow"));
    await expect(opening).rejects.toThrow("too slow");
    await expect.poll(() => sandbox.load?.guests).toBe(0);
    expect(await containersOf()).toEqual([]);
  });
});

test("a container that the daemon starts too late is removed", async () => {
  const made = new Set<string>();
  const asked: string[] = [];
  const docker = {
    getContainer: (name: string) => ({
      remove: async () => {
        if (!made.delete(name)) throw Object.assign(new Error("no such container"), { statusCode: 404 });
      },
    }),
  };
  const daemon = {
    sharesMachine: async () => false,
    dial: async ({
      options: { _query: query },
    }: {
      readonly options: { readonly _query: { readonly name: string } };
    }) => {
      asked.push(query.name);
      throw new DaemonTimeout("it has not answered");
    },
    ask: (question: (client: typeof docker, signal: AbortSignal) => unknown) =>
      question(docker, new AbortController().signal),
  } as unknown as Daemon;
  const pool = new ContainerPool(daemon, { warm: 0, containers: 1, queue: 1, evict: "needed" });
  const plan = { image: "", runtime: "runc", command: [], language: "python", labels: {} } as const;
  const limits = containerLimits(LIMITS, "python");
  const opening = pool.acquire({ ...plan, limits }, { tenant: "a" }, new AbortController().signal);
  await expect(opening).rejects.toThrow("it has not answered");
  for (const name of asked) made.add(name);
  await pool.close();
  expect(asked).toHaveLength(1);
  expect([...made]).toEqual([]);
});
