import { expect, test, vi } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { iterate, openGuest } from "../support/guests.ts";
import { echo, executed, throws, tool } from "../support/index.ts";
import { sandboxContract } from "./contract.ts";

sandboxContract(createMemorySandbox, { ends: "what yields" });

test("programs run under the fake timers of a host's test", async () => {
  // Those of Jest, which replaces also what node runs between two callbacks.
  // oxlint-disable-next-line no-restricted-properties -- what a host's own tests do
  vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "Date", "performance"] });
  const nextTick = process.nextTick.bind(process);
  process.nextTick = (...given) => {
    // Only what this package sets never runs: node goes on.
    const [, , caller = ""] = new Error("from").stack?.split("\n") ?? [];
    if (!caller.includes("/src/")) nextTick(...given);
  };
  try {
    expect((await executed([], "return 1 + 1;")).output.text).toBe("2");
  } finally {
    process.nextTick = nextTick;
    vi.useRealTimers();
  }
});

test("a stand-in for the guest script can send any frame", async () => {
  const sandbox = createMemorySandbox({
    guest: () => ({ deliver: () => {}, drain: () => '{"kind":"nonsense"}\u001enot even JSON' }),
  });
  await using guest = await openGuest(sandbox);
  expect((await iterate(guest).next()).value).toEqual(['{"kind":"nonsense"}', "not even JSON"]);
});

test("a stand-in that throws counts as a dead guest", async () => {
  const sandbox = createMemorySandbox({
    guest: () => ({
      deliver: () => {},
      drain: throws("out of order"),
    }),
  });
  await using guest = await openGuest(sandbox);
  expect(await guest.exit).toEqual({ type: "died", detail: "out of order" });
});

test("a rejection that a program does not handle does not reach the host's process", async () => {
  const reached: unknown[] = [];
  const onRejection = (reason: unknown) => reached.push(reason);
  process.on("unhandledRejection", onRejection);
  try {
    await using sandbox = createMemorySandbox();
    await using runtime = await createRuntime({ tools: [echo], sandbox });
    const { outcome } = await runtime.execute(`
      Promise.reject(new Error("nobody handles this"));
      (async () => { await null; throw 1; })();
      await tools.echo();
      const throws = { get() { throw new Error("no"); } };
      const { promise, reject } = Promise.withResolvers();
      Object.defineProperty(promise, "constructor", { ...throws, configurable: true });
      reject(2);
      Promise.reject(3).constructor = { get [Symbol.species]() { throw new Error("no"); } };
      Promise.reject(4).constructor = { [Symbol.species]: 5 };
      Object.freeze(Promise.reject(5));
      await tools.echo();
      Object.defineProperty(Promise.prototype, "constructor", throws);
      Promise.prototype.then = undefined;
      Promise.reject(6);
      return "done";
    `);
    expect(outcome).toMatchObject({ type: "completed", value: "done" });
    // node tells of rejections after the microtasks of the event that they were made in.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("unhandledRejection", onRejection);
  }
  expect(reached).toEqual([]);
});

test.each([
  ["JSON.parse([{ id: 1 }])", "Results of tools are values already"],
  ["throw new Error('no config', { cause: new TypeError('bad at 7') })", "no config (caused by TypeError: bad at 7)"],
  ["throw new Error('a', { cause: new Error('b', { cause: 'c' }) })", "a (caused by Error: b) (caused by c)"],
  ["throw Object.defineProperty(new Error('a'), 'cause', { get() { throw 1; } })", "Error: a"],
  // What is printed has all that JSON can hold, and marks for the rest.
  [
    "const a = { id: 71 }; a.self = a; console.log('row', a)",
    'row {"id":71,"self":"[a value that contains itself: build a copy without the cycle.]"}',
  ],
  ["console.log('no', new Error('a', { cause: new Error('b') }))", "no Error: a (caused by Error: b)"],
  ["console.log({ id: 71, toText() {} })", '{"id":71,"toText":"[a function]"}'],
  ["console.log({ re: /x/g, id: 71 }, /y/)", '{"re":"/x/g","id":71} /y/'],
  [
    "console.log([71, Symbol('s'), 5n, NaN, new Date(NaN)])",
    '[71,"[a symbol]","5","[NaN]","[an invalid date: JSON has no such date.]"]',
  ],
  [
    "console.log({ id: 71, get x() { throw new Error('no') }, w: new WeakMap() })",
    '{"id":71,"x":"[a getter that throws]","w":"[an object of the class WeakMap]"}',
  ],
  ["console.log({ id: 71, n: tools.t({}) })", '{"id":71,"n":"[the promise of tools.t(…): did you forget await?]"}'],
  ["return new Map([[1, 'a'], ['1', 'b']])", '[[1,"a"],["1","b"]]'],
  ["return { n: new Number(NaN) }", "NaN at .n became null"],
  ["class Sum { #of = 71; get of() { return this.#of; } } return [new Sum()]", "an object of the class Sum at [0]"],
])("nothing is lost in silence of what a program returns, prints or fails by: %s", async (program, text) => {
  expect((await executed([tool("t", () => 1)], program)).output.text).toContain(text);
});
