import { wholly } from "../../../src/base/index.ts";
import type { JournalRecord } from "../../../src/journal/record.ts";
import { type JournalEvent, JournalEvents } from "../../../src/serve/live/journal-events.ts";

/** The events of each record. */
export function takeRecords(
  records: readonly JournalRecord[],
  events = new JournalEvents(),
): (readonly JournalEvent[])[] {
  return records.map((record) => wholly(events.take(record)));
}
