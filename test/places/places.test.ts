import { array, assert, asyncProperty, constantFrom, integer, nat, oneof, property, record } from "fast-check";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { Counts } from "../../src/places/counts.ts";
import { Places, type Release } from "../../src/places/places.ts";

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

test("no more places are taken than there are, of one tenant or of all, and none stays free that a waiter may have", async () => {
  await assert(
    asyncProperty(steps, integer({ min: 1, max: 4 }), integer({ min: 1, max: 3 }), async (all, atOnce, perTenant) => {
      const places = new Places({ atOnce, perTenant, queued: 5, full: () => new Error("full") });
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
        expect([places.taken, places.waiting]).toEqual([held.length, waiting.length]);
        expect(places.waiting).toBeLessThanOrEqual(5);
        expect(places.taken).toBeLessThanOrEqual(atOnce);
        for (const one of ["a", "b", "c"]) expect(own(one)).toBeLessThanOrEqual(perTenant);
        if (held.length < atOnce) expect(waiting.filter((one) => own(one.tenant) < perTenant)).toEqual([]);
      }
    }),
    { numRuns: 60 },
  );
});
