import type { UnreplayableCause } from "../../bridge/frames.ts";
import type { LinkEnd } from "./guest-link.ts";
import type { Limits } from "./limits.ts";
import type { Ending } from "./outcome.ts";
import type { Divergence } from "./replay-turns.ts";

/** How an execution ends with its guest; undefined where another guest can take it up. */
export function endingOfGuest(
  end: LinkEnd,
  { memoryBytes, totalBytes }: Limits,
  unreplayable: UnreplayableCause | undefined,
  mayReplay: boolean,
): Ending | undefined {
  switch (end.type) {
    case "memory": {
      const seen = Math.max(end.seenBytes, memoryBytes);
      return { type: "stopped", limit: "memoryBytes", allowed: memoryBytes, seen };
    }
    case "broken":
    case "violation":
      return { type: "crashed", code: "bridge_broken", detail: end.detail };
    case "too_long":
      return { type: "stopped", limit: "totalBytes", allowed: totalBytes, seen: end.length };
    default:
  }
  if (unreplayable !== undefined)
    return engineDied(
      `${detailOf(end)}; it was not run again, because it had used what a replay would not find as it was (${unreplayable})`,
    );
  return mayReplay ? undefined : engineDied(detailOf(end));
}

/** No guest was given to the program within a limit of waiting; `turns` says whether anything of it was done. */
export function endingUnopened(turns: number, limit: "queueMs" | "queue", allowed: number): Ending {
  return turns === 0
    ? { type: "stopped", limit, allowed, seen: allowed }
    : engineDied(`its engine died, and waiting for another one reached a limit (${limit}, ${allowed})`);
}

export function endingDiverged({ turn, recorded, replayed }: Divergence): Ending {
  return {
    type: "crashed",
    code: "replay_diverged",
    detail: `Run again after its engine died, at turn ${turn} the program did ${replayed.slice(0, 200)}, recorded is ${recorded.slice(0, 200)}.`,
  };
}

export const NEVER_SETTLES: Ending = {
  type: "failed",
  fault: {
    name: "ProgramError",
    code: "never_settles",
    message:
      "The program waits for something that cannot happen: no call and no timer is open. Look for something awaited that nothing completes.",
  },
};

/** What the operator is told of a guest's end. */
export function detailOf(end: LinkEnd): string {
  if ("detail" in end) return end.detail;
  return end.type === "killed" ? end.reason : end.type;
}

function engineDied(detail: string): Ending {
  return { type: "crashed", code: "engine_died", detail };
}
