import type { UnreplayableCause } from "../../bridge/frames.ts";
import type { TurnRecord } from "../journal/record.ts";
import { readEvent } from "./history.ts";
import type { GuestEvent } from "./guest-event.ts";
import { areTurns, type GuestLink, type LinkEnd } from "./guest-link.ts";

/**
 * The first difference between a replay and the journal. An honest JavaScript program can cause one only if it catches
 * an out-of-memory error or, in a container, a stack overflow, and acts on where that happened.
 */
export interface Divergence {
  /** Index of the turn, from 0. */
  readonly turn: number;
  readonly recorded: string;
  readonly replayed: string;
}

export type Replayed =
  | { readonly type: "identical" }
  | { readonly type: "diverged"; readonly divergence: Divergence }
  /** The program used state that a replay cannot reproduce, so it was not run. */
  | { readonly type: "unreplayable"; readonly cause: UnreplayableCause }
  /** The guest ended before the replay was complete. */
  | { readonly type: "ended"; readonly end: LinkEnd };

/**
 * Sends recorded events to a guest and compares its commands with the recorded ones, byte for byte. `recorded` starts
 * at turn `from` of the execution, and the guest must already be in the state before that turn.
 */
export async function replayTurns(link: GuestLink, recorded: readonly TurnRecord[], from = 0): Promise<Replayed> {
  link.send(recorded.map(({ event }) => eventOf(event)));
  for (let index = 0; index < recorded.length;) {
    const heard = await link.nextTurns();
    if (!areTurns(heard)) return { type: "ended", end: heard };
    for (const turn of heard) {
      const divergence = compare(from + index, recorded[index]?.commands ?? [], turn.texts);
      if (divergence) return { type: "diverged", divergence };
      index += 1;
      // A settled guest sends nothing more, so any further recorded turn is a divergence.
      const next = recorded[index];
      if (turn.settled && next)
        return {
          type: "diverged",
          divergence: { turn: from + index, recorded: next.commands[0] ?? next.event, replayed: "nothing" },
        };
    }
  }
  return { type: "identical" };
}

/** A journalled event, to be sent to a guest again. Throws `journal_invalid` for a malformed frame. */
export function eventOf(text: string): GuestEvent {
  return { head: readEvent(text), text };
}

function compare(turn: number, recorded: readonly string[], replayed: readonly string[]): Divergence | undefined {
  for (let index = 0; index < Math.max(recorded.length, replayed.length); index += 1) {
    if (recorded[index] !== replayed[index])
      return { turn, recorded: recorded[index] ?? "nothing", replayed: replayed[index] ?? "nothing" };
  }
  return undefined;
}
