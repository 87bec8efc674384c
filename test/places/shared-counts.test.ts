import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  type GivenStarts,
  type HeldPlaces,
  PLACES_LEASE_MS,
  takePlaces,
  takeStarts,
} from "../../src/places/shared-counts.ts";
import { runs } from "../support/all-tests.ts";

test("holders never have more places than there are, whatever they ask for and in whatever order they give back and die", () => {
  const step = fc.record({
    holder: fc.constantFrom("a", "b", "c", "d"),
    gives: fc.nat(6),
    waits: fc.nat(6),
    passes: fc.oneof(fc.constant(0), fc.nat(PLACES_LEASE_MS * 2)),
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 7 }), fc.array(step, { maxLength: 40 }), (most, steps) => {
      let state: HeldPlaces = {};
      let now = 1_000_000;
      const held = new Map<string, { places: number; until: number }>();
      for (const { holder, gives, waits, passes } of steps) {
        now += passes;
        const own = held.get(holder);
        // A holder that said nothing for the length of its lease has nothing any more.
        const keeps = own && own.until > now ? Math.max(0, own.places - gives) : 0;
        const { state: next, result } = takePlaces(state, { holder, most, keeps, waits }, now);
        state = JSON.parse(JSON.stringify(next)) as HeldPlaces;
        held.set(holder, { places: keeps + result.more, until: now + PLACES_LEASE_MS });
        const all = [...held.values()].reduce((sum, { places, until }) => sum + (until > now ? places : 0), 0);
        expect(all).toBeLessThanOrEqual(most);
      }
    }),
    { numRuns: runs(2000) },
  );
});

test("places of a holder that died are free after its lease, and not before", () => {
  const { state } = takePlaces({}, { holder: "dead", most: 2, keeps: 0, waits: 2 }, 0);
  const asked = { holder: "next", most: 2, keeps: 0, waits: 2 };
  expect(takePlaces(state, asked, PLACES_LEASE_MS - 1).result).toMatchObject({ more: 0, othersWait: false });
  expect(takePlaces(state, asked, PLACES_LEASE_MS).result.more).toBe(2);
});

test("a holder that comes first leaves others that wait their part", () => {
  let state: HeldPlaces = takePlaces({}, { holder: "a", most: 4, keeps: 0, waits: 4 }, 0).state;
  const second = takePlaces(state, { holder: "b", most: 4, keeps: 0, waits: 9 }, 1);
  expect(second.result).toEqual({ more: 0, othersWait: false, share: 2 });
  state = second.state;
  const told = takePlaces(state, { holder: "a", most: 4, keeps: 4, waits: 9 }, 2);
  expect(told.result).toEqual({ more: 0, othersWait: true, share: 2 });
  const less = takePlaces(told.state, { holder: "a", most: 4, keeps: 2, waits: 9 }, 3);
  expect(less.result.more).toBe(0);
  expect(takePlaces(less.state, { holder: "b", most: 4, keeps: 0, waits: 9 }, 4).result.more).toBe(2);
});

test("in no span of time start more than may, whenever what was given is used", () => {
  const step = fc.record({
    passes: fc.nat(40),
    wants: fc.nat(8),
    // When each of those that are given is used, as a part of the time in which they may be; the others are given back.
    uses: fc.array(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), { maxLength: 8 }),
  });
  const [perMs, usableMs] = [100, 10];
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 60 }), (most, steps) => {
      let state: GivenStarts = [];
      let now = 0;
      const used: number[] = [];
      let unused: { id: string; starts: number } | undefined;
      for (const [n, { passes, wants, uses }] of steps.entries()) {
        now += passes;
        const id = `g${n}`;
        const { state: next, result } = takeStarts(state, { id, most, perMs, usableMs, wants, unused }, now);
        state = JSON.parse(JSON.stringify(next)) as GivenStarts;
        const at = uses.slice(0, result.starts);
        for (const part of at) used.push(now + part * usableMs);
        // Some are given back with the next question, and some never, as if their holder died.
        unused = n % 2 === 0 ? { id, starts: result.starts - at.length } : undefined;
      }
      for (const from of used)
        expect(used.filter((at) => at >= from && at < from + perMs).length).toBeLessThanOrEqual(most);
    }),
    { numRuns: runs(2000) },
  );
});

test("starts that were not used can be given to others at once", () => {
  const asked = { most: 5, perMs: 1000, usableMs: 100 };
  const { state } = takeStarts([], { ...asked, id: "one", wants: 5 }, 0);
  const full = takeStarts(state, { ...asked, id: "two", wants: 3 }, 50);
  expect(full.result).toEqual({ starts: 0, waitMs: 1050 });
  const back = takeStarts(full.state, { ...asked, id: "three", wants: 3, unused: { id: "one", starts: 4 } }, 60);
  expect(back.result.starts).toBe(3);
});
