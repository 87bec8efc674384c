import { after, cancel, type Timer } from "../../../base/index.ts";
import type { Ending } from "../../outcome.ts";

/** The first ending that a driver comes to. A stop's ending is decided later: its program may still print. */
export function firstEnding() {
  const resolvers = Promise.withResolvers<Ending>();
  let soon: Timer | undefined;
  const self = {
    ending: resolvers.promise,
    /** The ending that takes effect after the program's final output. */
    stopping: undefined as Ending | undefined,
    isDecided: false,

    get isKnown(): boolean {
      return self.isDecided || self.stopping !== undefined;
    },

    /** Calls `end` once the time for final output is over, unless an ending is decided before. Replaces an earlier time. */
    after(ms: number, end: () => void): void {
      cancel(soon);
      soon = after(ms, end);
    },

    /** Decides the ending, and returns it; undefined if it was decided before. `tell` follows once it has taken effect. */
    decide(latest: Ending): Ending | undefined {
      if (self.isDecided) return undefined;
      self.isDecided = true;
      cancel(soon);
      return self.stopping ?? latest;
    },

    tell: resolvers.resolve,
    fail: resolvers.reject,
  };
  return self;
}

export type FirstEnding = ReturnType<typeof firstEnding>;
