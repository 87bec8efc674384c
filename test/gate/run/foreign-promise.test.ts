import { expect, test } from "vitest";
import { isThenable, settled } from "../../../src/gate/run/foreign-promise.ts";

/* oxlint-disable unicorn/no-thenable -- a handler may give such values */
test.each([
  [Promise.resolve(1), true],
  [{ then: () => {} }, true],
  [{ then: 1 }, false],
  [null, false],
  [undefined, false],
  ["then", false],
  [() => {}, false],
])("whether %s is awaited", (value, is) => {
  expect(isThenable(value)).toBe(is);
});

test("a promise with its own `then` is heard once", async () => {
  const promise = Promise.resolve("its value");
  const heard: unknown[] = [];
  promise.then = (take: unknown) => {
    (take as (value: unknown) => void)("first");
    (take as (value: unknown) => void)("second");
    return promise as never;
  };
  settled(
    promise,
    (value) => heard.push(value),
    (error) => heard.push(error),
  );
  await new Promise(setImmediate);
  expect(heard).toEqual(["its value"]);
});
