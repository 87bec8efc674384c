import { eventHead } from "../from-journal/execution-state.ts";
import { Records } from "../../journal/reading/read-records.ts";
import type { JournalRecord, TurnRecord } from "../../journal/record.ts";
import { ignore, memoryOf } from "../../base/index.ts";
import { readEvent } from "../from-journal/read-turns.ts";
import { type GuestEvent, streamsOf } from "./guest-event.ts";
import { areTurns, type GuestLink, type LinkEnd } from "./guest-link.ts";
import type { Unreplayable } from "../outcome.ts";

/**
 * The first difference between a replay and the journal. An honest JavaScript program can cause a difference only if it
 * catches a stack overflow or a failed allocation, and acts on where that happened.
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

/** Memory of the turns that a replay holds, in bytes. */
const WINDOW_BYTES = 4 * 1024 * 1024;
const WINDOW_TURNS = 4096;
/** Memory of a turn or a command beyond its texts, in bytes. */
const OVERHEAD_BYTES = 256;

/** Called with the number of bytes that a replay begins to hold, or gives back: then the number is negative. */
export type CountBytes = (bytes: number) => void;

/**
 * Sends recorded events to a guest and compares its commands with the recorded commands, byte for byte. Held are the turns
 * whose commands it waits for: a few megabytes, and one turn that may be larger. Ends their source.
 */
export async function replayTurns(
  link: GuestLink,
  recorded: AsyncGenerator<TurnRecord, void, undefined>,
  count: CountBytes = ignore,
): Promise<Replayed> {
  await using source = recorded;
  for (let done = 0; ;) {
    const { turns, bytes } = await nextTurns(source);
    if (turns.length === 0) return { type: "identical" };
    count(bytes);
    try {
      link.send(turns.map(({ event }) => eventOf(event)));
      for (let compared = 0; compared < turns.length;) {
        const heard = await link.nextTurns();
        link.giveBackTurns();
        if (!areTurns(heard)) return { type: "ended", end: heard };
        for (const { texts, settled } of heard) {
          const divergence = compare(done, turns[compared]?.commands ?? [], texts);
          if (divergence) return { type: "diverged", divergence };
          compared += 1;
          done += 1;
          // A settled guest sends nothing more, so any further recorded turn is a divergence.
          const more = settled ? (turns[compared] ?? (await source.next()).value) : undefined;
          const last = more && { turn: done, recorded: more.commands[0] ?? more.event, replayed: "nothing" };
          if (last) return { type: "diverged", divergence: last };
        }
      }
    } finally {
      count(-bytes);
    }
  }
}

async function nextTurns(source: AsyncGenerator<TurnRecord, void, undefined>) {
  const turns: TurnRecord[] = [];
  let bytes = 0;
  while (bytes < WINDOW_BYTES && turns.length < WINDOW_TURNS) {
    const { done, value } = await source.next();
    if (done) break;
    turns.push(value);
    bytes += memoryOfTurn(value);
  }
  return { turns, bytes };
}

/** The turns among records. The caller counts the bytes of those that it holds. */
export async function* turnsOf(
  records: AsyncIterable<JournalRecord> | Iterable<JournalRecord>,
): AsyncGenerator<TurnRecord, void, undefined> {
  for await (const record of records) {
    if (record.type !== "turn") continue;
    if (records instanceof Records) records.release();
    yield record;
  }
}

function memoryOfTurn({ event, commands }: TurnRecord): number {
  return commands.reduce((bytes, text) => bytes + memoryOf(text) + OVERHEAD_BYTES, memoryOf(event) + OVERHEAD_BYTES);
}

/** A journalled event, to be sent to a guest again. Throws `journal_invalid` for a malformed frame. */
export function eventOf(text: string): GuestEvent {
  const event = readEvent(text);
  const head = eventHead(event);
  return event.kind === "start" ? { head, text, streams: streamsOf(event.body) } : { head, text };
}

function compare(turn: number, recorded: readonly string[], replayed: readonly string[]): Divergence | undefined {
  for (let index = 0; index < Math.max(recorded.length, replayed.length); index += 1) {
    if (recorded[index] !== replayed[index])
      return { turn, recorded: recorded[index] ?? "nothing", replayed: replayed[index] ?? "nothing" };
  }
  return undefined;
}
