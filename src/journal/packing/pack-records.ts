import type { JournalRecord } from "../record.ts";
import { type PackedRecord, packRecord } from "./large-texts.ts";

/** The records as they are stored. Packed before a transaction begins: others wait while it lasts. */
export async function packRecords(records: readonly JournalRecord[]): Promise<PackedRecord[]> {
  const packed: PackedRecord[] = [];
  for (const record of records) {
    // A record that is not an object would be stored as text that no reader accepts.
    if (typeof record !== "object" || record === null) throw new TypeError("A record of a journal is an object.");
    const one = packRecord(record);
    packed.push(one instanceof Promise ? await one : one);
  }
  return packed;
}
