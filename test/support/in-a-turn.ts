import { setImmediate } from "node:timers/promises";
import { workingClock } from "./clock.ts";

/**
 * Counts what is done in one turn of the event loop, at most: each time takes two milliseconds of the clock of all modules,
 * of which sliced work has five in a turn.
 */
export function inATurn(): { readonly most: Readonly<Record<string, number>>; readonly done: (what: string) => void } {
  const clock = workingClock();
  const most: Record<string, number> = {};
  const here: Record<string, number> = {};
  return {
    most,
    done: (what) => {
      here[what] ??= 0;
      if (here[what] === 0) void setImmediate().then(() => (here[what] = 0));
      here[what] += 1;
      most[what] = Math.max(most[what] ?? 0, here[what]);
      clock.work(2);
    },
  };
}
