import { afterEach, describe, expect, test, vi } from "vitest";
import type { Language } from "../../../bridge/frames.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { ContainerGuest } from "../../../src/sandboxes/docker/container/container-guest.ts";
import { containerLimits } from "../../../src/sandboxes/docker/container/container-limits.ts";
import { ContainerPool } from "../../../src/sandboxes/docker/container-pool.ts";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import type { Offer } from "../../../src/sandboxes/sandbox.ts";
import { removeContainersOf } from "../../docker-support/containers.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";
import { LIMITS } from "../../support/guests.ts";
import { signal, tool } from "../../support/tools.ts";

/** What a change costs beyond the container itself, for a program that has just begun to wait. */
const CHEAP = { costMs: 0, earnedMs: 0 };

/** Stands in for a container, whose removal takes a moment. */
class FakeGuest {
  readonly frames = [];
  readonly #exit = Promise.withResolvers<unknown>();
  readonly #removed = Promise.withResolvers<boolean>();
  readonly exit = this.#exit.promise;
  readonly removed = this.#removed.promise;
  readonly id = "fake";
  ended = false;
  how: string | undefined;
  onOffer: (offer: Offer | undefined) => void = () => {};

  setOfferListener(listener: (offer: Offer | undefined) => void): void {
    this.onOffer = listener;
  }

  ref(): void {}

  evict(): void {
    this.#end("evicted");
  }

  kill(): void {
    this.#end("killed");
  }

  #end(how: string): void {
    if (this.ended) return;
    this.ended = true;
    this.how = how;
    this.#exit.resolve({ type: how });
    setImmediate(() => this.#removed.resolve(true));
  }
}

/** A pool of containers that cost nothing, and start at once. */
function poolOf(containers: number) {
  const start = vi.spyOn(ContainerGuest, "start").mockImplementation(async () => new FakeGuest() as never);
  const pool = new ContainerPool(new Daemon(), { warm: 0, containers, queue: 10, evict: "needed" });
  const plan = { image: "", runtime: "runc", command: [], language: "python", labels: {} } as const;
  const limits = containerLimits(LIMITS, "python");
  const acquire = async (tenant: string, hasBegun = false) =>
    (await pool.acquire(
      { ...plan, limits },
      { tenant, hasBegun },
      AbortSignal.timeout(60_000),
    )) as unknown as FakeGuest;
  return { pool, acquire, started: () => start.mock.calls.length };
}

describe("in a pool of containers", () => {
  afterEach(() => void vi.restoreAllMocks());

  test("the program that has waited longest gives its container up, once a change is worth it", async () => {
    const { pool, acquire } = poolOf(2);
    const [first, second] = [await acquire("a"), await acquire("a")];
    second.onOffer(CHEAP);
    first.onOffer(CHEAP);
    const third = await acquire("a");
    expect([first.how, second.how, third.how]).toEqual([undefined, "evicted", undefined]);
    await pool.close();
  });

  test("a program that runs again keeps its container, and the one that needs a place waits on", async () => {
    const { pool, acquire } = poolOf(1);
    const first = await acquire("a");
    first.onOffer(CHEAP);
    const waiting = acquire("a");
    first.onOffer(undefined);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect([first.how, pool.counts.waiting]).toEqual([undefined, 1]);
    first.kill();
    await waiting;
    await pool.close();
  });

  test("a tenant loses containers to another only while it has more; what has not begun comes first", async () => {
    const { pool, acquire } = poolOf(3);
    const few = await acquire("few");
    const many = [await acquire("many"), await acquire("many")];
    for (const guest of [few, ...many]) guest.onOffer(CHEAP);
    const order: string[] = [];
    const fresh = acquire("other").then(() => order.push("fresh"));
    const begun = acquire("other", true).then(() => order.push("begun"));
    await fresh;
    // Now each tenant has one container. The other one of this tenant takes its own, which no program waits in.
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect([few.how, many.map(({ how }) => how), order]).toEqual([undefined, ["evicted", undefined], ["fresh"]]);
    few.kill();
    await begun;
    await pool.close();
  });
});

const PROGRAMS: Readonly<Record<Language, string>> = {
  javascript: `let sum = 0;
for (let n = 0; n < 2; n += 1) {
  sum += (await tools.meet({ n })).n;
  console.log("step", n, Math.random() < 2);
}
return sum;`,
  python: `import asyncio, random
sum = 0
for n in range(2):
    sum += (await tools.meet(n=n))["n"]
    print("step", n, random.random() < 2)
await asyncio.sleep(0.01)
sum`,
};

describe.skipIf(needDockerEngine() !== undefined)("containers of programs that wait", () => {
  afterEach(() => removeContainersOf());

  test.each(["javascript", "python"] as const)(
    "serve more programs in %s than there are containers, which all end as alone",
    { timeout: 120_000 },
    async (language) => {
      const programs = 4;
      const steps = new Map<number, { missing: number; readonly all: ReturnType<typeof signal> }>();
      const meet = tool("meet", async (input) => {
        const { n } = input as { readonly n: number };
        const step = steps.get(n) ?? { missing: programs, all: signal() };
        steps.set(n, step);
        step.missing -= 1;
        if (step.missing === 0) step.all.happen();
        await step.all.happened;
        return { n: n + 1 };
      });
      await using sandbox = createDockerSandbox({ containers: 2 });
      await using runtime = await createRuntime({ tools: [meet], sandbox });
      const reports = await Promise.all(
        Array.from({ length: programs }, () => runtime.execute(PROGRAMS[language], { language })),
      );
      for (const { outcome, logs } of reports) {
        expect(outcome).toEqual({ type: "completed", value: 3 });
        expect(logs.lines).toBe(2);
      }
      expect(reports.reduce((sum, { usage }) => sum + usage.evictions, 0)).toBeGreaterThanOrEqual(programs);
      for (const { execution } of reports) expect((await runtime.execution(execution).replay()).type).toBe("identical");
    },
  );
});
