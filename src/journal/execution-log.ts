import type { Head, Journal } from "./journal.ts";
import type { Header, JournalRecord } from "./record.ts";

/**
 * Appends to one execution's journal. Records are written in the order they were given. Records given during an append
 * are written together in the next one. After an append has failed, every later one fails with the same error: this
 * driver no longer owns the execution, or the store is unavailable.
 */
export class ExecutionLog {
  readonly execution: string;
  readonly #journal: Journal;
  #head: Head;
  #batch: JournalRecord[] = [];
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  private constructor(journal: Journal, execution: string, head: Head) {
    this.#journal = journal;
    this.execution = execution;
    this.#head = head;
  }

  static async create(journal: Journal, header: Header): Promise<ExecutionLog> {
    return new ExecutionLog(journal, header.execution, await journal.create(header));
  }

  /** Resolves once these records and all earlier ones are in the journal. */
  append(...records: readonly JournalRecord[]): Promise<void> {
    for (const record of records) this.#batch.push(record);
    this.#next ??= this.#writeNext();
    return this.#next;
  }

  /** Writes these records together with the next append, which is at the latest that of the outcome. */
  defer(...records: readonly JournalRecord[]): void {
    for (const record of records) this.#batch.push(record);
  }

  #writeNext(): Promise<void> {
    const next = this.#current.then(() => {
      const batch = this.#batch;
      this.#batch = [];
      this.#next = undefined;
      this.#current = this.#write(batch);
      return this.#current;
    });
    // Not every caller awaits the append. A rejection that is not awaited must not end the process.
    next.catch(() => {});
    return next;
  }

  async #write(records: readonly JournalRecord[]): Promise<void> {
    this.#head = await this.#journal.append(this.execution, this.#head, records);
  }
}
