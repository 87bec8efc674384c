import { headOf } from "../from-journal/execution-state.ts";
import { Records } from "../../journal/reading/read-records.ts";
import type { JournalRecord, TurnRecord } from "../../journal/record.ts";
import { memoryOf } from "../../base/index.ts";
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

/** Memory of the turns that a replay holds, in bytes. A turn that is larger is held alone. */
const WINDOW_BYTES = 4 * 1024 * 1024;
const WINDOW_TURNS = 4096;
/** Memory of a turn or a command beyond its texts, in bytes. */
const OVERHEAD_BYTES = 256;

/** Called with the number of bytes that a replay begins to hold, or gives back: then the number is negative. */
export type CountBytes = (bytes: number) => void;

/**
 * Sends recorded events to a guest and compares its commands with the recorded commands, byte for byte. Held are the
 * turns whose commands it waits for, and the turn after them: a few megabytes, or a single larger turn.
 */
export async function replayTurns(
  link: GuestLink,
  recorded: AsyncIterable<TurnRecord> | Iterable<TurnRecord>,
  count: CountBytes = () => {},
): Promise<Replayed> {
  await using turns = new TurnWindow(recorded, count);
  let done = 0;
  for (;;) {
    const events = await turns.fill();
    if (turns.isEmpty) return { type: "identical" };
    if (events.length > 0) link.send(events);
    const heard = await link.nextTurns();
    link.giveBackTurns();
    if (!areTurns(heard)) return { type: "ended", end: heard };
    for (const { texts, settled } of heard) {
      const divergence = compare(done, turns.take().commands, texts);
      if (divergence) return { type: "diverged", divergence };
      done += 1;
      // A settled guest sends nothing more, so any further recorded turn is a divergence.
      const more = settled ? await turns.after() : undefined;
      if (more)
        return {
          type: "diverged",
          divergence: { turn: done, recorded: more.commands[0] ?? more.event, replayed: "nothing" },
        };
    }
  }
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

/** The recorded turns whose events a guest was sent, and the turn after them. */
class TurnWindow implements AsyncDisposable {
  readonly #source: AsyncIterator<TurnRecord, unknown> | Iterator<TurnRecord, unknown>;
  readonly #count: CountBytes;
  readonly #sent: TurnRecord[] = [];
  /** Number of these turns that were compared. They are removed several at a time. */
  #compared = 0;
  #bytes = 0;
  #next: TurnRecord | undefined;
  #isOver = false;

  constructor(recorded: AsyncIterable<TurnRecord> | Iterable<TurnRecord>, count: CountBytes) {
    this.#source = Symbol.asyncIterator in recorded ? recorded[Symbol.asyncIterator]() : recorded[Symbol.iterator]();
    this.#count = count;
  }

  get isEmpty(): boolean {
    return this.#awaited === 0;
  }

  get #awaited(): number {
    return this.#sent.length - this.#compared;
  }

  /** The events of the turns that there is room for; of at least one turn if none is awaited. */
  async fill(): Promise<readonly GuestEvent[]> {
    const events: GuestEvent[] = [];
    // Events are sent several at a time.
    if (!this.isEmpty && (this.#bytes > WINDOW_BYTES / 2 || this.#awaited > WINDOW_TURNS / 2)) return events;
    this.#sent.splice(0, this.#compared);
    this.#compared = 0;
    for (;;) {
      const next = await this.#read();
      if (!next) return events;
      const isFull = this.#bytes > WINDOW_BYTES || this.#awaited >= WINDOW_TURNS;
      if (isFull && !this.isEmpty) return events;
      this.#next = undefined;
      this.#sent.push(next);
      events.push(eventOf(next.event));
    }
  }

  /** The turn after the compared turns; undefined if there is none. */
  async after(): Promise<TurnRecord | undefined> {
    return this.#sent[this.#compared] ?? (await this.#read());
  }

  async #read(): Promise<TurnRecord | undefined> {
    if (this.#next || this.#isOver) return this.#next;
    const { done, value } = await this.#source.next();
    if (done) this.#isOver = true;
    else {
      this.#next = value;
      this.#note(memoryOfTurn(value));
    }
    return this.#next;
  }

  /** The first of the turns that were sent and not compared. */
  take(): TurnRecord {
    const turn = this.#sent[this.#compared];
    // The guest's reader lets no turn through for which there was no event.
    if (!turn) throw new Error("A guest had more turns than events.");
    this.#compared += 1;
    this.#note(-memoryOfTurn(turn));
    return turn;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#note(-this.#bytes);
    if (!this.#isOver) await this.#source.return?.();
  }

  #note(bytes: number): void {
    this.#bytes += bytes;
    this.#count(bytes);
  }
}

function memoryOfTurn({ event, commands }: TurnRecord): number {
  return commands.reduce((bytes, text) => bytes + memoryOf(text) + OVERHEAD_BYTES, memoryOf(event) + OVERHEAD_BYTES);
}

/** A journalled event, to be sent to a guest again. Throws `journal_invalid` for a malformed frame. */
export function eventOf(text: string): GuestEvent {
  const event = readEvent(text);
  const head = headOf(event);
  return event.kind === "start" ? { head, text, streams: streamsOf(event.body) } : { head, text };
}

function compare(turn: number, recorded: readonly string[], replayed: readonly string[]): Divergence | undefined {
  for (let index = 0; index < Math.max(recorded.length, replayed.length); index += 1) {
    if (recorded[index] !== replayed[index])
      return { turn, recorded: recorded[index] ?? "nothing", replayed: replayed[index] ?? "nothing" };
  }
  return undefined;
}
