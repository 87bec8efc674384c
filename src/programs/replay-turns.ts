import type { UnreplayableCause } from "../../bridge/frames.ts";
import type { TurnRecord } from "../journal/record.ts";
import { readEvent } from "./history.ts";
import type { GuestEvent } from "./guest-event.ts";
import { areTurns, type GuestLink, type LinkEnd } from "./guest-link.ts";

/**
 * The place where a guest did something else than is recorded. Of an honest program in JavaScript that is where it acts on
 * how much memory there was or, in a container, how deep the stack was, when it caught an error that says that there is no more.
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
  /** The program used what is not the same when it runs again, so it was not run. */
  | { readonly type: "unreplayable"; readonly cause: UnreplayableCause }
  /** The guest ended before it had done all. */
  | { readonly type: "ended"; readonly end: LinkEnd };

/**
 * Hands recorded events to a guest and compares what it does with what is recorded, byte for byte. The guest
 * must stand where the first of these turns began, which is turn `from` of the execution.
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
      // A guest that has settled is silent: whatever else is recorded it will not do.
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

/** A journalled event, to be handed to a guest once more. Throws `journal_invalid` for a text that is no event. */
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
