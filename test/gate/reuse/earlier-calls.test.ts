import { expect, test } from "vitest";
import { type EarlierCall, EarlierCalls, type EarlierReader } from "../../../src/gate/reuse/earlier-calls.ts";
import type { Effect } from "../../../src/tools/tool.ts";
import { manualClock } from "../../support/clock.ts";
import { tool } from "../../support/tools.ts";

const reader: EarlierReader = {
  value: async () => "null",
  async *items() {},
  display: async () => undefined,
};
const answer = { bytes: 4, shape: "null", partsLeftOut: 0, records: [1], isStream: false, display: undefined };
const approval = { type: "decision", call: "1", allow: true, at: 0 } as const;
const NOW = 1_000_000;

/** A call that was made as the nth record, and answered by the next one. */
function call(id: number, { effect = "read", key = "k", ...more }: Partial<EarlierCall> & { effect?: Effect } = {}) {
  const places = { made: id * 10, ended: id * 10 + 1, at: NOW };
  return { execution: "a", call: String(id), tool: "t", key, effect, ...places, isUnknown: false, answer, ...more };
}

function known(calls: readonly EarlierCall[], maxAgeMs = 1000) {
  manualClock(NOW);
  const earlier = new EarlierCalls(reader, maxAgeMs);
  for (const _ of earlier.add(calls));
  return earlier;
}

const ids = (given: EarlierCall | undefined) => given?.call;

test("equal calls are answered in the order in which they were made, each once", () => {
  const earlier = known([call(1), call(2), call(3, { key: "other" })]);
  expect([1, 2, 3].map(() => ids(earlier.take("k", "read")))).toEqual(["1", "2", undefined]);
  expect(ids(earlier.take("other", "read"))).toBe("3");
});

test("an answer goes before an unknown outcome, and that before an approval", () => {
  const earlier = known([
    call(1, { effect: "write", answer: undefined, approval }),
    call(2, { effect: "write", answer: undefined, isUnknown: true }),
    call(3, { effect: "write" }),
  ]);
  expect([1, 2, 3, 4].map(() => ids(earlier.take("k", "write")))).toEqual(["3", "2", "1", undefined]);
});

test("what was read is given again up to its age, what was changed at any age", () => {
  const old = { at: NOW - 1001 };
  expect(known([call(1, old)]).take("k", "read")).toBeUndefined();
  expect(ids(known([call(1, { at: NOW - 1000 })]).take("k", "read"))).toBe("1");
  for (const effect of ["idempotent", "write"] as const)
    expect(ids(known([call(1, { ...old, effect })]).take("k", effect))).toBe("1");
  expect(ids(known([call(1, old), call(2)]).take("k", "read"))).toBe("2");
});

test("what was read before a change is not given again after that change", () => {
  const calls = [call(1), call(2, { effect: "write", key: "w" }), call(3)];
  const inOrder = known(calls);
  expect(["k", "w", "k"].map((key) => ids(inOrder.take(key, key === "w" ? "write" : "read")))).toEqual(["1", "2", "3"]);
  const changedFirst = known(calls);
  expect(ids(changedFirst.take("w", "write"))).toBe("2");
  expect(ids(changedFirst.take("k", "read"))).toBe("3");
  expect(changedFirst.take("k", "read")).toBeUndefined();
});

test("after a change of its own nothing that was read is given again, and what was changed still is", () => {
  const earlier = known([call(1), call(2, { effect: "write", key: "w" })]);
  earlier.noteMade("read");
  earlier.noteMade("idempotent");
  expect(earlier.take("k", "read")).toBeUndefined();
  expect(ids(earlier.take("w", "write"))).toBe("2");
});

test("a call that changes more than the earlier one counts as what it changes", () => {
  const earlier = known([call(1, { at: 0 })]);
  expect(earlier.effectOf("k")).toBe("read");
  expect(ids(earlier.take("k", "write"))).toBe("1");
  expect(earlier.effectOf("nothing")).toBeUndefined();
});

test("the next driver goes on with what is left", () => {
  const calls = [call(1), call(2), call(3, { effect: "write", key: "w" }), call(4)];
  const earlier = known(calls);
  const standIn = (id: string, reused = true) => ({ callId: id, earlier: { execution: "a", call: id }, reused });
  earlier.restore({ standIns: [standIn("1"), standIn("3"), standIn("9")], lines: [] }, () => "read");
  // The change that was given came after the second call.
  expect(ids(earlier.take("k", "read"))).toBe("4");
  const changed = known(calls);
  changed.restore(
    {
      standIns: [standIn("1")],
      lines: [
        { tool: "t", started: true },
        { tool: "u", started: false },
      ],
    },
    (name) => (name === "t" ? "idempotent" : "write"),
  );
  expect(changed.take("k", "read")).toBeUndefined();
});

test("calls of tools that are not to be reused are not known", () => {
  const earlier = known([call(1)]);
  expect(earlier.knows(tool("t", () => 1))).toBe(true);
  expect(earlier.knows({ ...tool("t", () => 1), reusable: false })).toBe(false);
  expect(earlier.knows(tool("u", () => 1))).toBe(false);
});

test("a call whose input was redacted gives no answer, and stands for an equal one", () => {
  const hidden = { effect: "write", answer: undefined, isUnknown: true, isHidden: true } as const;
  const earlier = known([call(1, hidden), call(2, { ...hidden, key: "l" })]);
  const t = tool("t", () => 1);
  expect(earlier.take("k", "write")).toBeUndefined();
  expect(earlier.hides(t)).toBe(true);
  expect(ids(earlier.takeHidden(t, "l"))).toBe("2");
  expect(earlier.takeHidden(t, "l")).toBeUndefined();
  expect(ids(earlier.takeHidden(t, undefined))).toBe("1");
  expect(earlier.hides(t)).toBe(false);
});

test("each of many equal calls is looked at a few times, however many there are, and so are those whose inputs were redacted", () => {
  const many = 5000;
  let looks = 0;
  const counted = (id: number, more: Parameters<typeof call>[1]) => {
    const one = call(id, more);
    return Object.defineProperty(one, "effect", { get: () => ((looks += 1), "write") });
  };
  const t = tool("t", () => 1);
  const numbers = Array.from({ length: many }, (_, id) => id);
  const plain = known(numbers.map((id) => counted(id, {})));
  for (const id of numbers) {
    expect(plain.effectOf("k")).toBe("write");
    expect(ids(plain.take("k", "write"))).toBe(String(id));
  }
  const hidden = { answer: undefined, isUnknown: true, isHidden: true } as const;
  const redacted = known(numbers.map((id) => counted(id, hidden)));
  for (const id of numbers) {
    expect(redacted.hides(t)).toBe(true);
    expect(ids(redacted.takeHidden(t, id % 2 === 0 ? "k" : undefined))).toBe(String(id));
  }
  expect(looks).toBeLessThan(10 * many);
});
