import * as fc from "fast-check";
import { expect, test } from "vitest";
import { clientIds } from "../../../../src/serve/gateway/carried/client-ids.ts";
import { isOfGateway, newExecution, type SealKind, secretKeys } from "../../../../src/serve/gateway/carried/seals.ts";

const [secret, other] = ["s".repeat(32), "o".repeat(32)];
const KEY = { id: "ann", tenant: "acme" };
const PREFIXES = { call: "c_", program: "p_", reply: "r_", state: "s_", text: "t_", reasoning: "" };
const idsOf = (secrets: readonly string[], key = KEY) => clientIds(secretKeys(secrets), key, PREFIXES);
const KINDS: readonly SealKind[] = ["call", "program", "reply", "state"];

test("what was sealed is opened with the same key, as the same kind, and with no other", () => {
  const ids = idsOf([secret]);
  fc.assert(
    fc.property(
      fc.constantFrom(...KINDS),
      fc.array(fc.nat(2 ** 40), { maxLength: 3 }),
      fc.constantFrom(...KINDS),
      (kind, numbers, as) => {
        const execution = newExecution(false);
        const sealed = { execution, numbers };
        const id = ids.write(kind, execution, ...numbers);
        expect(ids.read(as, PREFIXES[as] + id.slice(2))).toEqual(as === kind ? sealed : undefined);
        expect(idsOf([secret], { ...KEY, id: "ada" }).read(kind, id)).toBeUndefined();
        expect(idsOf([secret], { ...KEY, tenant: "bolt" }).read(kind, id)).toBeUndefined();
        expect(idsOf([other]).read(kind, id)).toBeUndefined();
        const rotated = idsOf([other, secret]);
        expect(rotated.write(kind, execution, ...numbers)).not.toBe(id);
        expect(rotated.read(kind, id)).toEqual(sealed);
        expect(rotated.write(kind, execution, ...numbers)).toBe(id);
      },
    ),
  );
});

test("an id with any other character, or with more or fewer, is none", () => {
  const ids = idsOf([secret]);
  const id = ids.write("call", newExecution(false), 3, 1, 17);
  fc.assert(
    fc.property(
      fc.nat(id.length - 1),
      fc.constantFrom("A", "a", "0", "9", "-", "_", " ", ".", "é"),
      (place, character) => {
        const forged = id.slice(0, place) + character + id.slice(place + 1);
        if (forged !== id) expect(ids.read("call", forged)).toBeUndefined();
        expect(ids.read("call", id.slice(0, place))).toBeUndefined();
        expect(ids.read("call", id + id.slice(0, place + 1))).toBeUndefined();
      },
    ),
  );
  expect(ids.read("call", "x".repeat(100_000))).toBeUndefined();
});

test("an execution of the gateway is known by its id", () => {
  expect(isOfGateway(newExecution(false))).toBe(true);
  expect(["gateway-1", "t-0123:gateway-", ""].some(isOfGateway)).toBe(false);
});
