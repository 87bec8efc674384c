import { expect, test, vi } from "vitest";
import { FirstEnding } from "../../../../src/programs/drive/ending/first-ending.ts";
import type { Ending } from "../../../../src/programs/outcome.ts";
import { manualClock } from "../../../support/clock.ts";

const CANCELLED: Ending = { type: "cancelled" };
const STOPPED: Ending = { type: "stopped", limit: "wallMs", allowed: 1, seen: 2 };

test("the first ending counts, and an ending after a stop is the one that the stop was for", () => {
  const end = new FirstEnding();
  expect(end.isKnown).toBe(false);
  end.stop(STOPPED);
  expect([end.isKnown, end.isDecided]).toEqual([true, false]);
  expect(end.decide(CANCELLED)).toBe(STOPPED);
  expect(end.decide(CANCELLED)).toBeUndefined();
  expect(new FirstEnding().decide(CANCELLED)).toBe(CANCELLED);
});

test("the time for final output is over once, and not after an ending is decided", () => {
  const clock = manualClock();
  const over = vi.fn();
  const end = new FirstEnding();
  end.after(10, over);
  end.after(20, over);
  clock.pass(20);
  expect(over).toHaveBeenCalledTimes(1);
  end.after(10, over);
  end.decide(CANCELLED);
  clock.pass(10);
  expect(over).toHaveBeenCalledTimes(1);
});
