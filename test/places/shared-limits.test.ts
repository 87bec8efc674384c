import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { SharedPlaces } from "../../src/places/shared-places.ts";
import { SharedStarts } from "../../src/places/shared-starts.ts";
import { type Changed, ProcessState, type SharedState } from "../../src/places/shared-state.ts";

/** Holds `src/places/waiters.ts` too. */
const never = new AbortController().signal;

/** A store that counts what it is asked, and can be out of reach. */
class CountedState extends ProcessState implements SharedState {
  asked = 0;
  isDown = false;
  readonly leaving: (() => Promise<void>)[] = [];

  override async update<State, Result>(
    key: string,
    change: (state: State | undefined, now: number) => Changed<State, Result>,
  ): Promise<Result> {
    this.asked += 1;
    await turn();
    if (this.isDown) throw new Error("out of reach");
    return super.update(key, change);
  }

  override onLeave(giveBack?: () => Promise<void>): void {
    if (giveBack) this.leaving.push(giveBack);
  }
}

test("three processes run no more at once than may together, and each comes to its turn", async () => {
  const state = new CountedState();
  const processes = Array.from({ length: 3 }, () => new SharedPlaces(state, "tool", 2));
  let [atOnce, most] = [0, 0];
  const ran = [0, 0, 0];
  const call = async (index: number) => {
    most = Math.max(most, (atOnce += 1));
    for (let n = 0; n < 5; n += 1) await turn();
    atOnce -= 1;
    ran[index] = (ran[index] ?? 0) + 1;
  };
  await Promise.all(
    processes.flatMap((places, index) => Array.from({ length: 40 }, () => places.run(() => call(index), never))),
  );
  expect(most).toBe(2);
  expect(ran).toEqual([40, 40, 40]);
});

test("calls of a process that has places ask no store", async () => {
  const state = new CountedState();
  const places = new SharedPlaces(state, "tool", 8);
  for (let n = 0; n < 1000; n += 1) await places.run(async () => n, never);
  expect(state.asked).toBeLessThan(50);
  const starts = new SharedStarts(new ProcessState(), "tool", { calls: 1_000_000, perMs: 60_000 });
  const counted = new SharedStarts(state, "other", { calls: 1_000_000, perMs: 60_000 });
  state.asked = 0;
  for (let n = 0; n < 1000; n += 1) await Promise.all([starts.take(never), counted.take(never)]);
  expect(state.asked).toBeLessThan(50);
});

test("a call that is given up leaves the line, and takes no place with it", async () => {
  const places = new SharedPlaces(new CountedState(), "tool", 1);
  const release = Promise.withResolvers<void>();
  const first = places.run(() => release.promise, never);
  await turn();
  const leave = new AbortController();
  const second = places.run(async () => expect.unreachable("it was given up"), leave.signal);
  const third = places.run(async () => 3, never);
  leave.abort(new Error("given up"));
  await expect(second).rejects.toThrow("given up");
  await expect(places.run(async () => 4, AbortSignal.abort(new Error("before")))).rejects.toThrow("before");
  release.resolve();
  await first;
  expect(await third).toBe(3);
  expect(await places.run(async () => 5, never)).toBe(5);
});

test("a process that leaves gives back its places at once", async () => {
  const state = new CountedState();
  const [one, other] = [new SharedPlaces(state, "tool", 1), new SharedPlaces(state, "tool", 1)];
  await one.run(async () => 1, never);
  for (const giveBack of state.leaving) await giveBack();
  state.asked = 0;
  expect(await other.run(async () => 2, never)).toBe(2);
  expect(state.asked).toBe(1);
});

test("what waits while the store is out of reach goes on when it is there again", async () => {
  const state = new CountedState();
  state.isDown = true;
  const places = new SharedPlaces(state, "tool", 1);
  const starts = new SharedStarts(state, "rate", { calls: 1, perMs: 10 });
  const waiting = [places.run(async () => "ran", never), starts.take(never).then(() => "started")];
  await expect.poll(() => state.asked).toBeGreaterThan(2);
  state.isDown = false;
  expect(await Promise.all(waiting)).toEqual(["ran", "started"]);
});
