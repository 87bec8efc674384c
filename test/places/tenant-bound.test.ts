import { array, assert, constantFrom, property } from "fast-check";
import { expect, test } from "vitest";
import { WaitingLine } from "../../src/places/waiting-line.ts";
import { manualClock } from "../support/clock.ts";

const NONE: ReadonlyMap<string, number> = new Map();

test("no tenant takes the last one from others that come, however many there are, and one that is alone has all of few", () => {
  const taken = property(
    array(constantFrom("a", "b", "c"), { minLength: 1, maxLength: 60 }),
    constantFrom(1, 2, 3, 7, 8, 20),
    (comers, all) => {
      const line = new WaitingLine<{ tenant: string }>(100, all);
      const held = new Map<string, number>();
      let total = 0;
      const seen = new Set<string>();
      for (const tenant of comers) {
        const other = seen.size > (seen.has(tenant) ? 1 : 0);
        seen.add(tenant);
        const own = held.get(tenant) ?? 0;
        const may = line.mayHave(tenant, held);
        expect(may).toBe(own < (all > 1 && (other || all >= 8) ? all - 1 : Number.POSITIVE_INFINITY));
        // Nothing that was taken is ever given back, as by programs that sleep.
        if (!may || total === all) continue;
        held.set(tenant, own + 1);
        total += 1;
      }
    },
  );
  assert(taken);
});

test("few are one tenant's alone again when no other has come for a while", () => {
  const clock = manualClock();
  const line = new WaitingLine<{ tenant: string }>(100, 2);
  const one = new Map([["a", 1]]);
  expect(line.mayHave("b", NONE)).toBe(true);
  expect(line.mayHave("a", one)).toBe(false);
  clock.pass(5 * 60_000);
  expect(line.mayHave("a", one)).toBe(true);
});
