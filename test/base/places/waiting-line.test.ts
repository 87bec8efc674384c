import { array, assert, boolean, constant, constantFrom, nat, oneof, property, record } from "fast-check";
import { expect, test, vi } from "vitest";
import { WaitingLine } from "../../../src/base/index.ts";
import { BEGUN_WAITS_MS } from "../../../src/base/places/waiting-line.ts";
import { manualClock } from "../../support/clock.ts";

const NONE: ReadonlyMap<string, number> = new Map();
/** How many engines tenants have. */
const has = (engines: Readonly<Record<string, number>>) => new Map(Object.entries(engines));

function lineOf(most: number, tenants: string) {
  const refused: string[] = [];
  const line = new WaitingLine<{ tenant: string; name: string; hasBegun?: boolean }>(most);
  const add = (tenant: string, name = tenant, hasBegun = false) => {
    const removed = line.add({ tenant, name, hasBegun });
    if (removed) refused.push(removed.name);
  };
  for (const [index, tenant] of tenants.split("").entries()) add(tenant, `${tenant}${index}`);
  return { line, refused, add };
}

/** Serves all, one after the other, on an engine that is given up each time. */
function servedBy(line: ReturnType<typeof lineOf>["line"]): string[] {
  const served: string[] = [];
  for (let next = line.next(NONE, NONE); next !== undefined; next = line.next(NONE, NONE))
    served.push(line.take(next)?.name ?? "nothing");
  return served;
}

test("tenants take turns, and programs of one tenant come in their order", () => {
  expect(servedBy(lineOf(100, "aaaabbc").line)).toEqual(["a0", "b4", "c6", "a1", "b5", "a2", "a3"]);
});

test("once tenants hold what they share only one that has none is served, and another gets no more than it takes from one that has more", () => {
  const line = new WaitingLine<{ tenant: string }>(100, undefined, 4);
  for (const tenant of ["a", "b", "c"]) line.add({ tenant });
  const held = has({ a: 3, b: 1 });
  expect(["a", "b", "c"].map((tenant) => line.mayHave(tenant, held))).toEqual([false, false, true]);
  expect(line.next(held)).toBe("c");
  expect([line.losable("b", "a", held), line.losable("a", "b", held)]).toEqual([3, 0]);
  line.take("c");
  expect(line.next(held)).toBeUndefined();
  expect(line.next(has({ a: 3 }))).toBe("b");
});

test("a tenant that has as many engines as it may have is not served, and does not count as unserved", () => {
  const line = new WaitingLine<{ tenant: string }>(100, 2);
  for (const tenant of ["a", "a", "a", "b"]) line.add({ tenant });
  const heldBy = (a: number, b: number) => has({ a, b });
  expect(line.next(heldBy(2, 2), NONE)).toBeUndefined();
  expect(line.next(heldBy(2, 1), NONE)).toBe("b");
  expect(line.next(heldBy(1, 2), NONE)).toBe("a");
  expect(line.next(heldBy(2, 1), NONE, "a")).toBe("b");
  expect(line.unserved(heldBy(0, 0), NONE)).toBe(3);
  expect(line.unserved(heldBy(2, 1), NONE)).toBe(1);
});

test("a tenant whose programs all have an engine starting is not given another", () => {
  const { line } = lineOf(100, "aab");
  expect(line.next(has({ b: 1, a: 3 }), has({ b: 1 }))).toBe("a");
  expect(line.next(NONE, has({ b: 1, a: 2 }))).toBeUndefined();
});

test("a returned engine stays with its tenant unless another tenant has fewer", () => {
  const { line } = lineOf(100, "ba");
  expect(line.next(has({ a: 1, b: 1 }), NONE, "a")).toBe("a");
  expect(line.next(has({ a: 2, b: 1 }), NONE, "a")).toBe("b");
  expect(line.next(NONE, NONE, "a")).toBe("b");
});

test("a full queue refuses the next program of the tenant that fills it, and accepts another tenant's", () => {
  const { line, refused, add } = lineOf(3, "aaa");
  add("a", "late");
  expect(refused).toEqual(["late"]);
  add("b", "other");
  expect(refused).toEqual(["late", "a2"]);
  expect([line.length, servedBy(line)]).toEqual([3, ["a0", "other", "a1"]]);
});

test("a program that has begun is served after those of its tenant that have not, then before them, and is never refused", () => {
  const clock = manualClock();
  const { line, refused, add } = lineOf(2, "aab");
  expect(refused).toEqual(["a1"]);
  for (const name of ["first", "second"]) add("a", name, true);
  expect(line.length).toBe(4);
  clock.pass(BEGUN_WAITS_MS - 1);
  expect(line.first("a")?.name).toBe("a0");
  clock.pass(1);
  expect(line.first("a")?.name).toBe("first");
  expect(servedBy(line)).toEqual(["first", "b2", "second", "a0"]);
  for (const name of ["first", "second", "third"]) add("a", name, true);
  add("a", "new");
  add("a", "newer");
  add("a", "newest");
  expect(refused).toEqual(["a1", "newest"]);
});

test("tenants that want an engine are in the order of how many they have, without those whose engines are all starting", () => {
  const { line } = lineOf(100, "aabbc");
  const held = has({ a: 3, b: 1, c: 2 });
  expect(line.wanting(held, has({ c: 1 }))).toEqual(["b", "a"]);
  expect(line.wanting(held, has({ b: 1 }))).toEqual(["b", "c", "a"]);
});

test("a tenant may lose a place to its own programs, and to a tenant that has fewer and may have one more", () => {
  const line = new WaitingLine<{ tenant: string }>(100, 3);
  const losable = (tenant: string, a: number, b: number, c: number) => {
    const held = has({ a, b, c });
    return ["a", "b", "c"].map((other) => line.losable(tenant, other, held));
  };
  expect(losable("a", 3, 4, 0)).toEqual([3, 0, 0]);
  expect(losable("a", 1, 1, 1)).toEqual([1, 0, 0]);
  expect(losable("a", 1, 2, 4)).toEqual([1, 2, 4]);
  expect(losable("new", 1, 2, 0)).toEqual([1, 2, 0]);
});

test("a tenant that gives a place back comes behind the tenants that have waited meanwhile", () => {
  const { line, add } = lineOf(100, "a");
  add("b");
  expect(line.next(NONE, NONE)).toBe("a");
  line.comesLast("a");
  expect(line.next(NONE, NONE)).toBe("b");
  line.comesLast("c");
  expect([line.length, line.next(NONE, NONE)]).toEqual([2, "b"]);
});

test("any of thousands of waiters leaves without a search for it, and the others stay in order", () => {
  const line = new WaitingLine<{ readonly tenant: string; readonly hasBegun: boolean; readonly id: number }>();
  const waiters = Array.from({ length: 20_000 }, (_, id) => ({ tenant: "a", hasBegun: id % 3 === 0, id }));
  for (const waiter of waiters) line.add(waiter);
  const indexOf = vi.spyOn(Array.prototype, "indexOf");
  const splice = vi.spyOn(Array.prototype, "splice");
  try {
    for (const waiter of waiters.filter(({ id }) => id % 2 === 1).toReversed()) line.remove(waiter);
    expect(indexOf.mock.calls.length + splice.mock.calls.length).toBe(0);
  } finally {
    indexOf.mockRestore();
    splice.mockRestore();
  }
  const served: number[] = [];
  for (let waiter = line.take("a"); waiter; waiter = line.take("a")) served.push(waiter.id);
  const left = waiters.filter(({ id }) => id % 2 === 0);
  expect(served).toEqual(
    [...left.filter((one) => !one.hasBegun), ...left.filter((one) => one.hasBegun)].map(({ id }) => id),
  );
  expect(line.length).toBe(0);
});

const anyStep = oneof(
  record({ type: constant("add" as const), tenant: constantFrom("a", "b"), hasBegun: boolean() }),
  record({ type: constant("remove" as const), at: nat(20) }),
  record({ type: constant("take" as const), tenant: constantFrom("a", "b") }),
);

test("whoever leaves, a tenant's waiters of a kind are served in their order", () => {
  assert(
    property(array(anyStep, { maxLength: 60 }), (steps) => {
      const line = new WaitingLine<{ readonly tenant: string; readonly hasBegun: boolean }>();
      let waiting: { readonly tenant: string; readonly hasBegun: boolean }[] = [];
      for (const step of steps) {
        if (step.type === "add") {
          const waiter = { tenant: step.tenant, hasBegun: step.hasBegun };
          waiting.push(waiter);
          line.add(waiter);
          continue;
        }
        const own = waiting.filter(({ tenant }) => step.type === "take" && tenant === step.tenant);
        const next = own.find(({ hasBegun }) => !hasBegun) ?? own[0];
        const gone = step.type === "take" ? next : waiting[step.at];
        if (step.type === "take") expect(line.take(step.tenant)).toBe(next);
        else if (gone) line.remove(gone);
        waiting = waiting.filter((one) => one !== gone);
        expect(line.length).toBe(waiting.length);
        expect(["a", "b"].map((tenant) => line.lengthOf(tenant))).toEqual(
          ["a", "b"].map((tenant) => waiting.filter((one) => one.tenant === tenant).length),
        );
      }
      expect(line.clear()).toEqual(waiting);
    }),
  );
});
