import { addAbortListener } from "node:events";
import type { ExecutionId } from "../../journal/execution-id.ts";
import { NO_ITEMS, readRecords } from "../../journal/reading/read-records.ts";
import type { Journal } from "../../journal/journal.ts";
import { isOperators, problemOf } from "../http/problems.ts";
import { type JournalEvent, JournalEvents, LAST_EVENTS } from "./journal-events.ts";
import type { JournalWatch } from "./journal-watch.ts";

/** Interval of lines without an event, in milliseconds: by them a lost connection is noticed. */
const HEARTBEAT_MS = 15_000;
/** Characters of events that are made at a time. No more are read from the journal before the client has taken them. */
const CHUNK_LENGTH = 64 * 1024;
const RECORDS_AT_ONCE = 256;
/** Characters of the records that are read at a time. A record may be large, and an event has little of it. */
const LENGTH_AT_ONCE = 4 * 1024 * 1024;

export interface EventStreamParts {
  readonly journal: Journal;
  readonly watch: JournalWatch;
  /** Id in the journal. */
  readonly execution: ExecutionId;
  readonly tenant: string;
  /** Id as its tenant writes it. */
  readonly shown: string;
  /** The last event that the client has; undefined if it has none. */
  readonly after: EventPlace | undefined;
  /** Whether the client may still read it. The stream ends if it may not. */
  readonly isAllowed: () => boolean;
  /** Reads when it is the turn of the client's key: a record may be large, and a client may have many streams. */
  readonly inTurn: <Value>(read: () => Promise<Value>) => Promise<Value>;
  /** Counts the bytes that the stream holds of open calls from now on. Throws if they are too many, which ends the stream. */
  readonly hold: (bytes: number) => void;
  /** Ends the stream: the server closes. */
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
  /** How often a line is sent while nothing happens, in milliseconds. */
  readonly heartbeatMs?: number;
}

/** Place of an event: the place of its record, and its own place among the events of the record. */
export interface EventPlace {
  readonly record: number;
  readonly place: number;
}

/** Reads an id of an event; undefined for any other text. */
export function parseEventId(id: string): EventPlace | undefined {
  const found = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(id);
  return found ? { record: Number(found[1]), place: Number(found[2] ?? 0) } : undefined;
}

/**
 * The events of an execution as a stream of server-sent events: the events of its records, then of each record that is
 * appended, to its end. It reads from the journal what the client takes, and holds no more than one chunk.
 */
export function eventStream(parts: EventStreamParts): ReadableStream<Uint8Array> {
  const left = new AbortController();
  const signal = AbortSignal.any([left.signal, parts.signal]);
  const chunks = chunksOf(parts, signal);
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel() {
        left.abort();
        // The generator may be suspended at a chunk that was read, and would hold its watch for ever.
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Never rejects: a failure of the journal is the last event. */
async function* chunksOf(parts: EventStreamParts, signal: AbortSignal): AsyncGenerator<string> {
  const { watch, execution, isAllowed, hold, onError, heartbeatMs = HEARTBEAT_MS } = parts;
  using watching = watch.watch(execution);
  using _ = addAbortListener(signal, () => watch.wake(execution));
  const reader = new EventChunks(parts);
  try {
    yield ": portcullis\n\n";
    let saidAt = performance.now();
    while (!signal.aborted && !reader.isOver && isAllowed()) {
      const chunk = await parts.inTurn(() => reader.next());
      hold(reader.events.heldBytes);
      // There are records that are no events, and records that the client has.
      const isQuiet = performance.now() - saidAt >= heartbeatMs;
      if (chunk !== "" || isQuiet) {
        yield chunk === "" ? ": still here\n\n" : chunk;
        saidAt = performance.now();
      }
      if (!reader.isAtEnd || reader.isOver) continue;
      await watching.wait(reader.events.position, Math.max(1, saidAt + heartbeatMs - performance.now()));
    }
  } catch (error) {
    const problem = problemOf(error);
    // An execution that was deleted meanwhile is no failure of the host.
    if (isOperators(problem)) onError(error);
    const { code, message } = problem;
    yield `event: error\ndata: ${JSON.stringify({ error: { code, message } })}\n\n`;
  }
}

/** Reads the journal in steps, each of which is over before the next begins: a client that is slow keeps nothing open. */
class EventChunks {
  readonly #parts: EventStreamParts;
  readonly events = new JournalEvents();
  /** All existing records have been read. */
  isAtEnd = false;
  /** The last event was given. */
  isOver = false;

  constructor(parts: EventStreamParts) {
    this.#parts = parts;
  }

  async next(): Promise<string> {
    const { journal, execution, tenant } = this.#parts;
    let chunk = "";
    let records = 0;
    this.isAtEnd = true;
    const from = this.events.position;
    let length = 0;
    const onLength = (more: number) => {
      length += more;
    };
    const read = readRecords(journal, execution, { tenant, from, count: RECORDS_AT_ONCE, onLength, ...NO_ITEMS });
    for await (const record of read) {
      for (const event of await read.lane.work(this.events.take(record))) {
        if (this.#isNew(event)) chunk += this.#textOf(event);
        if (LAST_EVENTS.has(event.type)) this.isOver = true;
      }
      records += 1;
      if (chunk.length < CHUNK_LENGTH && records < RECORDS_AT_ONCE && length < LENGTH_AT_ONCE) continue;
      this.isAtEnd = false;
      break;
    }
    return chunk;
  }

  #isNew({ id }: JournalEvent): boolean {
    const { after } = this.#parts;
    const { record, place } = parseEventId(id) ?? { record: 0, place: 0 };
    return after === undefined || record > after.record || (record === after.record && place > after.place);
  }

  #textOf({ id, type, data }: JournalEvent): string {
    const { shown: execution } = this.#parts;
    return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ ...data, execution })}\n\n`;
  }
}
