import { headOf, type Unreplayable } from "./execution-state.ts";
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
  | { readonly type: "unreplayable"; readonly cause: Unreplayable }
  /** The guest ended before the replay was complete. */
  | { readonly type: "ended"; readonly end: LinkEnd };

/** Amount of recorded text that is sent to a guest before its turns are awaited, in UTF-16 code units. */
const BATCH_LENGTH = 4 * 1024 * 1024;
/** Number of events that are sent to a guest before its turns are awaited. */
const BATCH_TURNS = 4096;

/**
 * Sends recorded events to a guest and compares its commands with the recorded ones, byte for byte. `recorded` starts
 * at turn `from` of the execution, and the guest must already be in the state before that turn. Only a part of the turns
 * is held in memory at a time.
 */
export async function replayTurns(
  link: GuestLink,
  recorded: AsyncIterable<TurnRecord> | Iterable<TurnRecord>,
  from = 0,
): Promise<Replayed> {
  let done = from;
  let hasSettled = false;
  for await (const batch of batchesOf(recorded)) {
    const [first] = batch;
    // A settled guest sends nothing more, so any further recorded turn is a divergence.
    if (hasSettled && first) return afterTheEnd(done, first);
    const replayed = await replayBatch(link, batch, done);
    if (replayed.type !== "identical") return replayed;
    hasSettled = replayed.hasSettled;
    done += batch.length;
  }
  return { type: "identical" };
}

async function* batchesOf(
  recorded: AsyncIterable<TurnRecord> | Iterable<TurnRecord>,
): AsyncGenerator<readonly TurnRecord[]> {
  let batch: TurnRecord[] = [];
  let length = 0;
  for await (const turn of recorded) {
    batch.push(turn);
    length += turn.event.length;
    if (length < BATCH_LENGTH && batch.length < BATCH_TURNS) continue;
    yield batch;
    batch = [];
    length = 0;
  }
  if (batch.length > 0) yield batch;
}

async function replayBatch(
  link: GuestLink,
  batch: readonly TurnRecord[],
  from: number,
): Promise<{ readonly type: "identical"; readonly hasSettled: boolean } | Exclude<Replayed, { type: "identical" }>> {
  link.send(batch.map(({ event }) => eventOf(event)));
  let hasSettled = false;
  for (let index = 0; index < batch.length;) {
    const heard = await link.nextTurns();
    if (!areTurns(heard)) return { type: "ended", end: heard };
    for (const turn of heard) {
      const divergence = compare(from + index, batch[index]?.commands ?? [], turn.texts);
      if (divergence) return { type: "diverged", divergence };
      index += 1;
      hasSettled = turn.settled;
      const next = batch[index];
      if (hasSettled && next) return afterTheEnd(from + index, next);
    }
  }
  return { type: "identical", hasSettled };
}

function afterTheEnd(turn: number, { commands, event }: TurnRecord): Replayed & { readonly type: "diverged" } {
  return { type: "diverged", divergence: { turn, recorded: commands[0] ?? event, replayed: "nothing" } };
}

/** A journalled event, to be sent to a guest again. Throws `journal_invalid` for a malformed frame. */
export function eventOf(text: string): GuestEvent {
  return { head: headOf(readEvent(text)), text };
}

function compare(turn: number, recorded: readonly string[], replayed: readonly string[]): Divergence | undefined {
  for (let index = 0; index < Math.max(recorded.length, replayed.length); index += 1) {
    if (recorded[index] !== replayed[index])
      return { turn, recorded: recorded[index] ?? "nothing", replayed: replayed[index] ?? "nothing" };
  }
  return undefined;
}
