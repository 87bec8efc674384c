import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  isOfGateway,
  newExecution,
  newSecret,
  type SealKind,
  Seals,
} from "../../../../src/serve/gateway/carried/seals.ts";

const [secret, other] = [newSecret(), newSecret()];
const KEY = { id: "ann", tenant: "acme" };
const KINDS: readonly SealKind[] = ["call", "program", "reply", "state"];

test("what was sealed is opened with the same key, as the same kind, and with no other", () => {
  const seals = new Seals([secret]);
  fc.assert(
    fc.property(
      fc.constantFrom(...KINDS),
      fc.array(fc.nat(2 ** 40), { maxLength: 3 }),
      fc.constantFrom(...KINDS),
      (kind, numbers, as) => {
        const execution = newExecution(false);
        const id = seals.seal(KEY, kind, { execution, numbers });
        expect(seals.open(KEY, as, id)).toEqual(as === kind ? { execution, numbers, by: 0 } : undefined);
        expect(seals.open({ ...KEY, id: "ada" }, kind, id)).toBeUndefined();
        expect(seals.open({ ...KEY, tenant: "bolt" }, kind, id)).toBeUndefined();
        expect(new Seals([other]).open(KEY, kind, id)).toBeUndefined();
        expect(new Seals([other, secret]).open(KEY, kind, id)).toEqual({ execution, numbers, by: 1 });
      },
    ),
  );
});

test("an id with any other character, or with more or fewer, is none", () => {
  const seals = new Seals([secret]);
  const id = seals.seal(KEY, "call", { execution: newExecution(false), numbers: [3, 1, 17] });
  fc.assert(
    fc.property(
      fc.nat(id.length - 1),
      fc.constantFrom("A", "a", "0", "9", "-", "_", " ", ".", "é"),
      (place, character) => {
        const forged = id.slice(0, place) + character + id.slice(place + 1);
        if (forged !== id) expect(seals.open(KEY, "call", forged)).toBeUndefined();
        expect(seals.open(KEY, "call", id.slice(0, place))).toBeUndefined();
        expect(seals.open(KEY, "call", id + id.slice(0, place + 1))).toBeUndefined();
      },
    ),
  );
  expect(seals.open(KEY, "call", "x".repeat(100_000))).toBeUndefined();
});

test("an execution of the gateway is known by its id", () => {
  expect(isOfGateway(newExecution(false))).toBe(true);
  expect(["gateway-1", "t-0123:gateway-", ""].some(isOfGateway)).toBe(false);
});
