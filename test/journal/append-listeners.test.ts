import { expect, test, vi } from "vitest";
import { AppendListeners } from "../../src/journal/append-listeners.ts";

test("the store hears when the first listener comes and when the last has gone, each time", async () => {
  const [onFirst, onLast] = [vi.fn(), vi.fn()];
  const listeners = new AppendListeners(onFirst, onLast);
  const first = listeners.add(() => {});
  const second = listeners.add(() => {});
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  expect([onFirst.mock.calls.length, onLast.mock.calls.length]).toEqual([1, 0]);
  second[Symbol.dispose]();
  expect(onLast).toHaveBeenCalledTimes(1);
  listeners.add(() => {});
  expect(onFirst).toHaveBeenCalledTimes(2);
});

test("a listener that goes while it is told of an append is not called with it", async () => {
  const listeners = new AppendListeners();
  const late = vi.fn();
  const going = listeners.add(late);
  listeners.tell({ execution: "one", head: 1 });
  going[Symbol.dispose]();
  await Promise.resolve();
  expect(late).not.toHaveBeenCalled();
});
