import { array, assert, asyncProperty, constantFrom, integer, nat, oneof, property, record } from "fast-check";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { Counts, Places, type Release } from "../../../src/base/index.ts";

test("counts are the sum of what was taken and not given back, however often it is given back", () => {
  const step = record({ key: constantFrom("a", "b", "c"), amount: integer({ min: 1, max: 5 }), back: nat(3) });
  assert(
    property(array(step), (steps) => {
      const counts = new Counts();
      const kept = new Map<string, number>();
      for (const { key, amount, back } of steps) {
        const before = kept.get(key) ?? 0;
        const release = counts.take(key, amount, 12);
        expect(release !== undefined).toBe(before + amount <= 12);
        for (let times = 0; times < back; times += 1) release?.();
        if (release && back === 0) kept.set(key, before + amount);
      }
      expect(counts.byKey).toEqual(kept);
      expect(counts.all).toBe([...kept.values()].reduce((sum, one) => sum + one, 0));
    }),
  );
});

const tenants = constantFrom("a", "b", "c");
const steps = array(
  oneof(
    record({ type: constantFrom("take"), tenant: tenants, at: nat(20) }),
    record({ type: constantFrom("release", "leave"), tenant: tenants, at: nat(20) }),
  ),
  { maxLength: 60 },
);

const bounds = record({ perTenant: integer({ min: 1, max: 3 }), first: nat(3) });

test("no more places are taken than there are, of one tenant or of all, and none stays free that a waiter may have", async () => {
  await assert(
    asyncProperty(steps, integer({ min: 1, max: 4 }), bounds, async (all, atOnce, { perTenant, first }) => {
      const places = new Places({ atOnce, first, perTenant, queued: 5, full: () => new Error("full") });
      const held: { readonly tenant: string; readonly release: Release }[] = [];
      const waiting: { readonly tenant: string; readonly stop: AbortController }[] = [];
      for (const { type, tenant, at } of all) {
        if (type === "take") {
          const waiter = { tenant, stop: new AbortController() };
          waiting.push(waiter);
          const over = () => void waiting.splice(waiting.indexOf(waiter), 1);
          void Promise.resolve(places.take(tenant, waiter.stop.signal)).then((release) => {
            over();
            if (release) held.push({ tenant, release });
          }, over);
        } else if (type === "release") held.splice(at % (held.length || 1), 1)[0]?.release();
        else waiting[at % (waiting.length || 1)]?.stop.abort();
        await setImmediate();
        const own = (of: string) => held.filter((one) => one.tenant === of).length;
        expect([places.activeCount, places.waiting]).toEqual([held.length, waiting.length]);
        expect(places.waiting).toBeLessThanOrEqual(5);
        expect(places.activeCount).toBeLessThanOrEqual(atOnce + first);
        for (const one of ["a", "b", "c"]) expect(own(one)).toBeLessThanOrEqual(perTenant);
        const isFree = (one: string) => held.length < atOnce + (own(one) === 0 ? first : 0);
        expect(waiting.filter((one) => own(one.tenant) < perTenant && isFree(one.tenant))).toEqual([]);
      }
    }),
    { numRuns: 60 },
  );
});

test("a tenant that has no place takes one beyond those that others hold, and no tenant takes two", async () => {
  const places = new Places({ atOnce: 2, first: 2 });
  const take = (tenant: string) => places.take(tenant) instanceof Promise;
  expect("aaabbccd".split("").map(take)).toEqual([false, false, true, false, true, false, true, true]);
  expect([places.activeCount, places.waiting]).toEqual([4, 4]);
});

test("a tenant that has no place waits for at most one that each other tenant has, whoever comes and whatever ends", async () => {
  await assert(
    asyncProperty(steps, integer({ min: 1, max: 3 }), nat(1), async (all, atOnce, first) => {
      const places = new Places({ atOnce, first });
      const held: { readonly tenant: string; readonly release: Release }[] = [];
      /** Tenants that wait and have nothing, with how many each other tenant has been given: as many as 1 if it had any before. */
      const givenSince = new Map<string, Map<string, number>>();
      const give = (tenant: string, release: Release) => {
        givenSince.delete(tenant);
        for (const given of givenSince.values()) given.set(tenant, (given.get(tenant) ?? 0) + 1);
        held.push({ tenant, release });
      };
      for (const { type, tenant, at } of all) {
        if (type === "take") {
          const taken = places.take(tenant);
          if (!(taken instanceof Promise)) give(tenant, taken);
          else {
            const others = new Map(held.map((one) => [one.tenant, 1]));
            if (!others.has(tenant) && !givenSince.has(tenant)) givenSince.set(tenant, others);
            void taken.then((release) => release && give(tenant, release));
          }
        } else held.splice(at % (held.length || 1), 1)[0]?.release();
        await setImmediate();
        for (const given of givenSince.values()) expect(Math.max(0, ...given.values())).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 1000 },
  );
});
