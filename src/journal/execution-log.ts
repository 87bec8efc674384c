import type { Head, Journal } from "./journal.ts";
import type { Header, JournalRecord } from "./record.ts";

/**
 * The writing end of one execution's journal. Records leave in the order they were given; those given while an
 * append is under way leave together in the next one. Once an append has failed, every later one fails alike:
 * this driver no longer owns the execution, or the store is gone.
 */
export class ExecutionLog {
  readonly execution: string;
  readonly #journal: Journal;
  #head: Head;
  #batch: JournalRecord[] = [];
  #underWay: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  private constructor(journal: Journal, execution: string, head: Head) {
    this.#journal = journal;
    this.execution = execution;
    this.#head = head;
  }

  static async create(journal: Journal, header: Header): Promise<ExecutionLog> {
    return new ExecutionLog(journal, header.execution, await journal.create(header));
  }

  /** Resolves when these records, and all before them, are in the journal. */
  append(...records: readonly JournalRecord[]): Promise<void> {
    for (const record of records) this.#batch.push(record);
    this.#next ??= this.#afterUnderWay();
    return this.#next;
  }

  /** These records leave with the next ones that are appended: together with an outcome at the latest. */
  defer(...records: readonly JournalRecord[]): void {
    for (const record of records) this.#batch.push(record);
  }

  #afterUnderWay(): Promise<void> {
    const next = this.#underWay.then(() => {
      const batch = this.#batch;
      this.#batch = [];
      this.#next = undefined;
      this.#underWay = this.#write(batch);
      return this.#underWay;
    });
    // A caller that needs the record awaits it. A failure that no caller awaits must not end the process.
    next.catch(() => {});
    return next;
  }

  async #write(records: readonly JournalRecord[]): Promise<void> {
    this.#head = await this.#journal.append(this.execution, this.#head, records);
  }
}
