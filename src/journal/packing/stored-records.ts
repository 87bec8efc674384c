import { errorAt } from "../../base/index.ts";
import type { Head, ReadOptions } from "../journal.ts";
import { journalDamaged } from "../journal-error.ts";
import type { JournalRecord } from "../record.ts";
import { itemsUpTo, type TextStore, unpackRecord } from "./large-texts.ts";

/**
 * Records that are read at a time, and their bytes together: a record that is larger is read alone. A text and what is parsed
 * from it are in memory together, so it is held so many times.
 */
export const PAGE = { records: 64, bytes: 256 * 1024, copies: 2 };

/** A record as it is stored, and the memory that is held for its page meanwhile. */
export interface StoredRecord {
  readonly text: unknown;
  readonly position: Head;
  readonly pageBytes: number;
}

/** The records of an execution that a store has read, whole and checked. Rejects with what is damaged. */
export async function* readStoredRecords(
  execution: string,
  stored: AsyncIterable<StoredRecord>,
  { hold, itemBytes, ...texts }: Omit<TextStore, "wantsItems"> & Pick<ReadOptions, "itemBytes">,
): AsyncGenerator<JournalRecord> {
  // Loaded on demand: loading the schema library takes as long as running a program.
  const { parseRecord } = await import("../reading/parse-records.ts");
  const wantsItems = itemBytes === undefined ? undefined : itemsUpTo(itemBytes);
  for await (const { text, position, pageBytes } of stored) {
    let parsed: JournalRecord;
    try {
      if (typeof text !== "string") throw journalDamaged("a record is not text, or is too large");
      const holdTexts = (bytes: number) => hold(pageBytes + bytes * PAGE.copies);
      parsed = parseRecord(await unpackRecord(text, { ...texts, wantsItems, hold: holdTexts }), position);
    } catch (error) {
      const isNoJson = error instanceof SyntaxError;
      throw errorAt(
        `Execution ${JSON.stringify(execution)}`,
        isNoJson ? journalDamaged("a record is not JSON", error) : error,
      );
    }
    yield parsed;
  }
}
