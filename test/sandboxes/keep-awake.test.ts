import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { nextTurn } from "../../src/clock.ts";
import { DueReply, keepAwake } from "../../src/sandboxes/keep-awake.ts";
import { manualClock } from "../support/clock.ts";

const first = new DueReply();
const second = new DueReply();

afterEach(async () => {
  first.forget();
  second.forget();
  await nextTurn();
});

/** A clock, and how many of five turns the event loop is kept awake for. */
function watched() {
  const clock = manualClock();
  const asked = vi.spyOn(globalThis, "setImmediate");
  onTestFinished(() => asked.mockRestore());
  const spins = () => asked.mock.calls.filter(([run]) => run.name === "spin").length;
  const turns = async () => {
    const before = spins();
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    return spins() - before;
  };
  return { clock, turns };
}

test("the event loop stays awake while one reply is due, but no longer than a tenth of a millisecond", async () => {
  const { clock, turns } = watched();
  first.expect();
  keepAwake();
  expect(await turns()).toBe(5);
  clock.pass(0.2);
  expect(await turns()).toBe(0);
});

test("the event loop may sleep once the reply has come", async () => {
  const { turns } = watched();
  first.expect();
  keepAwake();
  first.forget();
  expect(await turns()).toBe(0);
});

test("the event loop may sleep while replies of several guests are due, however often each was sent something", async () => {
  const { turns } = watched();
  first.expect();
  first.expect();
  second.expect();
  keepAwake();
  expect(await turns()).toBe(0);
  second.forget();
  second.forget();
  keepAwake();
  expect(await turns()).toBe(5);
  second.expect();
  expect(await turns()).toBe(0);
});
