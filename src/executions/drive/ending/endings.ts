import { hasCode } from "../../../base/index.ts";
import type { LinkEnd } from "../../guest/guest-link.ts";
import type { Limits } from "../../limits.ts";
import type { Ending, Unreplayable } from "../../outcome.ts";
import type { Divergence } from "../../guest/replay-turns.ts";

/** The ending of an execution whose guest has ended; undefined if another guest can continue it. */
export function endingOfGuest(
  end: LinkEnd,
  { memoryBytes, totalBytes }: Limits,
  unreplayable: Unreplayable | undefined,
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
    case "no_room":
      return { type: "stopped", ...end.overdraft };
    default:
  }
  if (unreplayable !== undefined)
    return engineDied(`${detailOf(end)}; it was not replayed, because ${whyNot("the program", unreplayable)}`);
  return mayReplay ? undefined : engineDied(detailOf(end));
}

/** The ending of a program whose output is more than an honest guest sends (`seen` bytes), or is no text. */
export function endingByOutput(refused: "overflow" | "malformed", allowed: number, seen: number): Ending {
  if (refused === "overflow") return { type: "stopped", limit: "printedBytes", allowed, seen };
  const detail = "The guest sent an output frame whose body is not a JSON string.";
  return { type: "crashed", code: "bridge_broken", detail };
}

/** The ending of an execution that got no guest within the `limit`, after `turns`. `wasEvicted`: it gave one up. */
export function endingUnopened(
  turns: number,
  limit: "queueMs" | "queue",
  allowed: number,
  wasEvicted: boolean,
): Ending {
  return turns === 0 || wasEvicted
    ? { type: "stopped", limit, allowed, seen: allowed }
    : engineDied(`the engine died, and the wait for another one reached a limit (${limit}, ${allowed})`);
}

/** The ending of an execution whose signal was aborted with this reason. */
export function endingCancelled(reason: unknown): Extract<Ending, { readonly type: "cancelled" }> {
  const isRevoked = hasCode(reason, "key_revoked");
  return { type: "cancelled", ...(isRevoked && { code: "key_revoked" }) };
}

export function endingDiverged({ turn, recorded, replayed }: Divergence): Ending {
  return {
    type: "crashed",
    code: "replay_diverged",
    detail: `The replay differs from the journal at turn ${turn}: the program did ${replayed.slice(0, 200)}, the journal has ${recorded.slice(0, 200)}.`,
  };
}

export const NEVER_SETTLES: Ending = {
  type: "failed",
  fault: {
    name: "ProgramError",
    code: "never_settles",
    message:
      "The program awaits a promise that can never settle: no call and no timer is open. Look for an await of a promise that no code resolves.",
  },
};

/** The host died after it had sent the program a stop: the reason of the stop is in no record. */
export const DIED_STOPPING: Ending = {
  type: "crashed",
  code: "engine_died",
  detail: "the host died while it stopped the program",
};

/** The host died, and the program cannot be replayed. */
export function endingUnreplayable(cause: Unreplayable): Ending {
  return engineDied(`the host died; the program was not resumed, because ${whyNot("it", cause)}`);
}

/** Says that a program was kept where it ran while it waited for decisions or results from outside. */
export function keptNote(cause: Unreplayable): string {
  return `The program kept its process while it waited for a decision or a client's result: it could not be put down, because ${whyNot("it", cause)}.`;
}

/** Says of an execution to its operator that it cannot be replayed. */
export function unreplayableNote(cause: Unreplayable): string {
  return `This execution cannot be replayed, because ${whyNot("the program", cause)}.`;
}

function whyNot(program: string, cause: Unreplayable): string {
  if (cause === "redaction") return "its journal was redacted and does not hold what happened";
  if (cause === "stream")
    return `${program} had read more of its streams than a journal in memory keeps; a journal in a file keeps all of them`;
  return `${program} had used state that a replay cannot reproduce (${cause})`;
}

export function detailOf(end: LinkEnd): string {
  if ("detail" in end) return end.detail;
  if (end.type === "evicted") return "another tenant's program needed its engine or container";
  return end.type === "killed" ? end.reason : end.type;
}

function engineDied(detail: string): Ending {
  return { type: "crashed", code: "engine_died", detail };
}
