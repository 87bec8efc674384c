import { array, assert, asyncProperty, constantFrom, integer, nat, record } from "fast-check";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ContainerGuest } from "../../../src/sandboxes/docker/container/container-guest.ts";
import { containerLimits } from "../../../src/sandboxes/docker/container/container-limits.ts";
import { ContainerPool } from "../../../src/sandboxes/docker/container-pool.ts";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import type { Offer } from "../../../src/sandboxes/sandbox.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";
import { LIMITS } from "../../support/guests.ts";

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});
afterEach(() => void vi.restoreAllMocks());

/** What a change costs beyond the container itself, for a program that has just begun to wait. */
const CHEAP: Offer = { ownMs: 0, othersMs: 0, lostMs: 10_000 };
/** Of a program that cannot be replayed. */
const LOST: Offer = { ownMs: Number.POSITIVE_INFINITY, othersMs: 10_000, lostMs: 10_000 };
/** More than what a change of containers costs. */
const CHANGE_MS = 700;

/** Stands in for a container, whose removal takes a moment. */
class FakeGuest {
  readonly frames = [];
  readonly #exit = Promise.withResolvers<unknown>();
  readonly #removed = Promise.withResolvers<void>();
  readonly exit = this.#exit.promise;
  readonly removed = this.#removed.promise;
  readonly id = "fake";
  ended = false;
  how: string | undefined;
  onOffer: (offer: Offer | undefined) => void = () => {};

  setOfferListener(listener: (offer: Offer | undefined) => void): void {
    this.onOffer = listener;
  }

  hold(): void {}

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
    // As the container does it: what has ended offers nothing.
    this.onOffer(undefined);
    this.#exit.resolve({ type: how });
    queueMicrotask(() => this.#removed.resolve());
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
      new AbortController().signal,
    )) as unknown as FakeGuest;
  return { pool, acquire, started: () => start.mock.calls.length };
}

test("the program that has waited longest gives its container up, once a change is worth it", async () => {
  const { pool, acquire } = poolOf(2);
  const [first, second] = [await acquire("a"), await acquire("a")];
  second.onOffer(CHEAP);
  first.onOffer(CHEAP);
  const waiting = acquire("a");
  await clock.advance(CHANGE_MS);
  const third = await waiting;
  expect([first.how, second.how, third.how]).toEqual([undefined, "evicted", undefined]);
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
  await clock.advance(CHANGE_MS);
  await fresh;
  // Now each tenant has one container. The other one of this tenant takes its own, which no program waits in.
  await clock.advance(CHANGE_MS);
  expect([few.how, many.map(({ how }) => how), order]).toEqual([undefined, ["evicted", undefined], ["fresh"]]);
  few.kill();
  await begun;
  await pool.close();
});

test.each([2, 3, 4])(
  "tenants that hold all of %i containers and sleep keep no tenant out, whoever came first",
  async (containers) => {
    for (const hasCome of [true, false])
      for (const offer of [CHEAP, LOST]) {
        const { pool, acquire } = poolOf(containers);
        if (hasCome) (await acquire("new")).kill();
        await setImmediate();
        const sleeping = ["a", "a", "b", "a"].slice(0, containers).map(async (tenant) => {
          const guest = await acquire(tenant);
          guest.onOffer(offer);
          return guest;
        });
        await Promise.all(sleeping);
        const waiting = acquire("new");
        await clock.advance(Math.max(0, offer.othersMs) + CHANGE_MS);
        expect((await waiting).how).toBeUndefined();
        // It is one of the tenant that has most.
        expect((await Promise.all(sleeping)).filter(({ how }) => how === "evicted")).toEqual([await sleeping[0]]);
        await pool.close();
      }
  },
);

test("what cannot be replayed is kept for its own tenant, and from others for as long as a program may compute", async () => {
  const { pool, acquire } = poolOf(1);
  const first = await acquire("a");
  first.onOffer(LOST);
  const own = acquire("a");
  await clock.advance(60_000);
  expect([first.how, pool.counts.waiting]).toEqual([undefined, 1]);
  first.onOffer(LOST);
  const other = acquire("b");
  await clock.advance(LOST.othersMs);
  expect(first.how).toBeUndefined();
  await clock.advance(CHANGE_MS);
  expect(first.how).toBe("evicted");
  (await other).kill();
  await own;
  await pool.close();
});

const tenants = constantFrom("a", "b", "c", "d");
const arrivals = array(
  record({
    does: constantFrom("come", "come", "wait", "lose", "end", "wake"),
    tenant: tenants,
    at: nat(20),
    ms: nat(3000),
  }),
  { maxLength: 40 },
);

test("a tenant waits for at most one program of each other tenant that computes, whoever comes and in whatever order", async () => {
  await assert(
    asyncProperty(arrivals, integer({ min: 1, max: 4 }), async (all, containers) => {
      const { pool, acquire } = poolOf(containers);
      const running: { readonly tenant: string; readonly guest: FakeGuest; since: number | undefined }[] = [];
      /** Tenants that wait and have nothing, with how many each other tenant has been given: as many as 1 if it had any before. */
      const givenSince = new Map<string, Map<string, number>>();
      for (const { does, tenant, at, ms } of all) {
        const live = running.filter(({ guest }) => !guest.ended);
        const one = live[at % (live.length || 1)];
        if (does === "come") {
          const others = new Map(live.map((other) => [other.tenant, 1]));
          if (!others.has(tenant) && !givenSince.has(tenant)) givenSince.set(tenant, others);
          void acquire(tenant).then(
            (guest) => {
              givenSince.delete(tenant);
              for (const given of givenSince.values()) given.set(tenant, (given.get(tenant) ?? 0) + 1);
              running.push({ tenant, guest, since: undefined });
            },
            () => {},
          );
        } else if (does === "end") one?.guest.kill();
        else if (one) {
          one.since = does === "wake" ? undefined : clock.monotonic();
          one.guest.onOffer(does === "wake" ? undefined : does === "wait" ? CHEAP : LOST);
        }
        await clock.advance(ms);
        for (const given of givenSince.values()) expect(Math.max(0, ...given.values())).toBeLessThanOrEqual(1);
        if (givenSince.size === 0) continue;
        // Whoever waits and has nothing waits for programs that compute, and for none that has slept for so long.
        const slept = running.filter(
          ({ guest, since }) => !guest.ended && since !== undefined && clock.monotonic() - since > 11_000,
        );
        expect(slept).toEqual([]);
      }
      await pool.close();
    }),
    { numRuns: 300 },
  );
});
