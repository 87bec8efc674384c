import { type ExecutionId, inSlices, Lane, memoryOf, Pace, type SlicedWork } from "../../base/index.ts";
import { journalDamaged } from "../journal-error.ts";
import type { ExecutionSummary, Head, Journal, ListOptions } from "../journal.ts";
import { type Reading, quotaOf } from "./reading-quota.ts";
import type { Header, JournalRecord } from "../record.ts";

export interface ReadingOptions {
  /** The tenant whose share of the host's thread and memory the reading takes. */
  readonly tenant: string;
  /** Index of the first record; 0 by default. */
  readonly from?: Head;
  /** Number of records to read at most; all by default. */
  readonly count?: number;
  /**
   * Set if what is done with a record may wait for a guest or a client. The reading then takes no place among the
   * readings that run at once, and its consumer calls `release` before it waits.
   */
  readonly mayWait?: boolean;
  /** Called with the length of the texts of each record, in UTF-16 code units. */
  readonly onLength?: ((length: number) => void) | undefined;
  /** What the reading may read. The reading rejects with `BudgetSpent` before it reads or gives more. */
  readonly budget?: ReadingBudget | undefined;
  /** Bytes of the items of streams that are wanted, as a store takes it; all by default. */
  readonly itemBytes?: number;
}

/** Characters that several readings may read together. */
export class ReadingBudget {
  #budget: number;

  constructor(characters: number) {
    this.#budget = characters;
  }

  get isSpent(): boolean {
    return this.#budget <= 0;
  }

  take(characters: number): void {
    this.#budget -= characters;
  }

  has(characters: number): boolean {
    return characters <= this.#budget;
  }
}

export class BudgetSpent extends Error {}

/** What a record counts for beside its texts, in characters. */
const RECORD_LENGTH = 512;

/** For readings that need no items of streams, only their numbers. */
export const NO_ITEMS = { itemBytes: 0 } as const satisfies Partial<ReadingOptions>;

/** Options of a reading for the host itself, and for no tenant. */
export const HOST: ReadingOptions = { tenant: "" };

/**
 * The records of one execution. All readers use this: it shares the host's thread and the memory for readings among
 * them. A record counts as held until the next record is asked for. A consumer that keeps a part of a record counts
 * that part itself.
 */
export class Records implements AsyncIterable<JournalRecord> {
  /** Lane for work on its records. */
  readonly lane: Lane;
  readonly #journal: Journal;
  readonly #execution: ExecutionId;
  readonly #options: ReadingOptions;
  readonly #reading: Reading;

  constructor(journal: Journal, execution: ExecutionId, options: ReadingOptions) {
    this.lane = new Lane(options.tenant);
    this.#journal = journal;
    this.#execution = execution;
    this.#options = options;
    this.#reading = quotaOf(journal).open(options.tenant);
  }

  /** Gives back what the last record holds: its consumer counts it. */
  release(): void {
    this.#reading.count(0);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JournalRecord, void, undefined> {
    const { from = 0, count, mayWait = false, onLength, budget, itemBytes } = this.#options;
    const reading = this.#reading;
    const pace = new Pace(this.lane);
    let countsItself = false;
    let isSpent = false;
    const spend = (characters: number) => {
      isSpent = budget?.has(characters) === false;
      if (isSpent) throw new BudgetSpent();
    };
    const hold = async (bytes: number) => {
      countsItself = true;
      // A character takes a byte or more.
      spend(bytes);
      await reading.hold(bytes);
      await pace.rest();
    };
    let remaining = count ?? Infinity;
    let index = from;
    try {
      if (remaining <= 0) return;
      if (!mayWait) await reading.begin();
      for await (const record of this.#journal.read(this.#execution, { from, hold, count, itemBytes })) {
        // What follows from such records would be written to the other execution, which another tenant may have.
        if (record.type === "header" && (index > 0 || record.execution !== this.#execution))
          throw journalDamaged(`the records of execution ${JSON.stringify(this.#execution)} are those of another one`);
        index += 1;
        if (!countsItself) reading.count(sumOfTexts(record, (text) => memoryOf(text)));
        const length = sumOfTexts(record, (text) => text.length);
        onLength?.(length);
        spend(RECORD_LENGTH + length);
        budget?.take(RECORD_LENGTH + length);
        await pace.rest();
        yield record;
        remaining -= 1;
        if (remaining <= 0) return;
      }
    } catch (error) {
      // A store may have wrapped `BudgetSpent` in an error of its own.
      throw isSpent ? new BudgetSpent() : error;
    } finally {
      reading.end();
    }
  }

  async each(take: (record: JournalRecord) => SlicedWork<void>): Promise<void> {
    for await (const record of this) {
      const done = this.lane.work(take(record));
      if (done) await done;
    }
  }
}

/** Reads records of an execution. The first step rejects with `execution_unknown`, others as the journal does. */
export function readRecords(journal: Journal, execution: ExecutionId, options: ReadingOptions): Records {
  return new Records(journal, execution, options);
}

/** The first record of an execution; undefined if it is no header. Rejects as the journal does. */
export async function readHeader(
  journal: Journal,
  execution: ExecutionId,
  options: Pick<ReadingOptions, "tenant" | "onLength">,
): Promise<Header | undefined> {
  for await (const record of readRecords(journal, execution, { ...options, count: 1 }))
    return record.type === "header" ? record : undefined;
  return undefined;
}

/**
 * The executions of a store, in its order. All readers use this: a store yields all of its executions without a pause,
 * and a hundred thousand may wait.
 */
export function readList(journal: Journal, options: ListOptions = {}): AsyncGenerator<ExecutionSummary> {
  return inSlices(journal.list(options), new Lane(options.tenant ?? ""));
}

export function sumOfTexts(record: JournalRecord, amountOf: (text: string) => number): number {
  let sum = 0;
  for (const field of Object.values(record) as unknown[]) {
    const texts = Array.isArray(field) ? (field as unknown[]) : [field];
    for (const text of texts) if (typeof text === "string") sum += amountOf(text);
  }
  return sum;
}
