import { NO_ITEMS, readRecords } from "../../journal/reading/index.ts";
import type { Journal } from "../../journal/journal.ts";
import type { TenantIds } from "../tenant-ids.ts";
import { type JournalEvent, JournalEvents, LAST_EVENTS } from "./journal-events.ts";
import { type LiveReader, liveStream, type LiveStreamParts } from "./live-stream.ts";

/** Characters of events that are made at a time. No more are read from the journal before the client has taken them. */
const CHUNK_LENGTH = 64 * 1024;
const RECORDS_AT_ONCE = 256;
/** Characters of the records that are read at a time. A record may be large, and an event has little of it. */
const LENGTH_AT_ONCE = 4 * 1024 * 1024;

export interface EventStreamParts extends LiveStreamParts {
  readonly journal: Journal;
  readonly tenant: string;
  readonly ids: TenantIds;
  /** The last event that the client has; undefined if it has none. */
  readonly after: EventPlace | undefined;
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

/** The events of an execution's records as a stream of server-sent events. It holds no more than one chunk. */
export function eventStream(parts: EventStreamParts): ReadableStream<Uint8Array> {
  return liveStream(parts, eventReader(parts));
}

/** Reads the journal in steps, each of which is over before the next begins: a client that is slow keeps nothing open. */
function eventReader({ journal, execution, tenant, ids, after }: EventStreamParts): LiveReader {
  const events = new JournalEvents();
  const isNew = ({ id }: JournalEvent) => {
    const { record, place } = parseEventId(id)!;
    return after === undefined || record > after.record || (record === after.record && place > after.place);
  };
  const textOf = ({ id, type, data }: JournalEvent) => {
    const json = JSON.stringify(ids.shownIn(tenant, { ...data, execution }));
    return `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;
  };
  return async () => {
    let [text, records, length, isAtEnd, isOver] = ["", 0, 0, true, false];
    const onLength = (more: number) => {
      length += more;
    };
    const from = events.position;
    const read = readRecords(journal, execution, { tenant, from, count: RECORDS_AT_ONCE, onLength, ...NO_ITEMS });
    for await (const record of read) {
      const batch = await read.lane.work(events.take(record));
      text += batch.filter(isNew).map(textOf).join("");
      isOver ||= batch.some(({ type }) => LAST_EVENTS.has(type));
      records += 1;
      if (text.length < CHUNK_LENGTH && records < RECORDS_AT_ONCE && length < LENGTH_AT_ONCE) continue;
      isAtEnd = false;
      break;
    }
    const positions = new Map([[execution, events.position]]);
    return { text, heldBytes: events.heldBytes, positions, isAtEnd, isOver };
  };
}
