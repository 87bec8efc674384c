import {
  cancel,
  every,
  hasCode,
  ignore,
  nextTick,
  now,
  PortcullisError,
  queueMicrotask,
  type Timer,
} from "../base/index.ts";
import type { Head, Journal } from "./journal.ts";
import { readRecords } from "./reading/read-records.ts";
import type { AliveRecord, DecisionRecord, Header, JournalRecord, ResultRecord, TurnRecord } from "./record.ts";

/** A record that others than the driver may append to an execution that is driven. */
export type ForeignRecord = DecisionRecord | ResultRecord | AliveRecord;

export interface DriverOptions {
  /** Id of the driver, unique to one driver of one execution. */
  readonly driver: string;
  /** How long another driver must wait before it may take the execution over, in milliseconds. */
  readonly leaseMs: number;
  /** Span in which it drives, as `traceparent`. */
  readonly trace?: string;
}

/** A record that is appended by itself. Turns are appended together. */
export type OneRecord = Exclude<JournalRecord, TurnRecord>;

/** Creates an execution that a driver begins to drive. */
export function createExecution(journal: Journal, header: Header, { driver, leaseMs }: DriverOptions): Promise<Head> {
  return journal.create(header, { driver, until: now() + leaseMs });
}

/**
 * Appends to one execution's journal as its driver, and renews its lease. Records are written in the order they were
 * given. Records given in one turn of the event loop, or during an append, are written together. Records that others may
 * append are passed to `onForeign`. After an append has failed, every later one fails with the same error: this driver
 * no longer owns the execution, or the store is unavailable.
 *
 * `state` is derived from the records: each changes it when it is passed in, so it is ahead of the journal by the records
 * being written. `Content` is what the text of a record holds, for a state that keeps it.
 */
export class ExecutionLog<State = undefined, Content = never> {
  readonly execution: string;
  readonly state: State;
  readonly #apply: (record: OneRecord, content?: Content) => void;
  readonly #journal: Journal;
  readonly #tenant: string;
  readonly #driver: DriverOptions;
  readonly #renewal: Timer;
  onForeign: ((records: readonly ForeignRecord[]) => void) | undefined;
  /** Called once if another driver has taken the execution over. */
  onFenced: ((error: unknown) => void) | undefined;
  #head: Head;
  #batch: JournalRecord[] = [];
  #isSafe = false;
  /** Whether records are being written. That takes long while another process keeps the store locked. */
  isWriting = false;
  #isRenewing = false;
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  /** At this head, which this driver has made by the header or by its claim. */
  constructor(
    journal: Journal,
    of: Pick<Header, "execution" | "tenant">,
    head: Head,
    driver: DriverOptions,
    state: State,
    apply: (record: OneRecord, content?: Content) => void = ignore,
  ) {
    this.#journal = journal;
    this.execution = of.execution;
    this.#tenant = of.tenant;
    this.#head = head;
    this.#driver = driver;
    this.state = state;
    this.#apply = apply;
    // Three attempts before the lease ends.
    this.#renewal = every(driver.leaseMs / 3, () => void this.#renew());
    this.#renewal.unref();
  }

  /** Number of records that are known to be in the journal. */
  get position(): Head {
    return this.#head;
  }

  /** Resolves once the record, if there is one, and all earlier ones, deferred ones among them, are in the journal. */
  append(record?: OneRecord, content?: Content): Promise<void> {
    if (record) this.defer(record, content);
    this.#next ??= this.#writeNext();
    return this.#next;
  }

  /** Like `append`, for a record that must survive a loss of power. */
  appendSafely(record: OneRecord): Promise<void> {
    this.#isSafe = true;
    return this.append(record);
  }

  /** Writes the record together with the next append, at the latest with the outcome's. */
  defer(record: OneRecord, content?: Content): void {
    this.#apply(record, content);
    this.#batch.push(record);
  }

  /** The same for turns, by which the state was changed before. */
  deferTurns(records: readonly TurnRecord[]): void {
    for (const record of records) this.#batch.push(record);
  }

  /** Ends the driving. An execution without an outcome may be taken over at once. */
  async stop(hasOutcome: boolean): Promise<void> {
    cancel(this.#renewal);
    if (hasOutcome) return;
    try {
      await this.append();
      await this.#journal.renew(this.execution, { driver: this.#driver.driver, until: 0 });
    } catch {
      // Either the store fails, or another driver holds the lease. Otherwise the lease ends by itself.
    }
  }

  /** Reads what others have appended; nothing if this driver has appended all records below `head`. */
  async catchUp(head = Infinity): Promise<void> {
    if (head <= this.#head) return;
    const next = this.#current.then(() => (head <= this.#head ? undefined : this.#readForeign(undefined)));
    this.#current = next;
    next.catch(ignore);
    await next;
  }

  #writeNext(): Promise<void> {
    const next = new Promise<void>((resolve, reject) => {
      const write = () => {
        const batch = this.#batch;
        const safe = this.#isSafe;
        this.#batch = [];
        this.#isSafe = false;
        this.#next = undefined;
        // Records that were only deferred may be in the journal already.
        if (batch.length > 0) this.#write(batch, safe).then(resolve, reject);
        else resolve();
      };
      // Records that follow from one event in the same turn of the event loop are written together: a tick that a microtask
      // sets runs only when no microtask is left.
      this.#current.then(() => nextTick(() => queueMicrotask(write)), reject);
    });
    // Set at once: `catchUp` has to wait for this write, or it would take the records for another driver's.
    this.#current = next;
    // Not every caller awaits the append. A rejection that is not awaited must not end the process.
    next.catch(ignore);
    return next;
  }

  /** Records of others may be why these could not be written: they are written after them. */
  async #write(records: readonly JournalRecord[], safe: boolean): Promise<void> {
    this.isWriting = true;
    try {
      for (;;) {
        try {
          this.#head = await this.#journal.append(this.execution, this.#head, records, { safe });
          return;
        } catch (error) {
          if (!isHeadMoved(error)) throw error;
          await this.#readForeign(error);
        }
      }
    } finally {
      this.isWriting = false;
    }
  }

  /** Takes over records that others may append. If another driver has appended, it rejects with `fence` or `head_moved`. */
  async #readForeign(fence: unknown): Promise<void> {
    const foreign: ForeignRecord[] = [];
    for await (const record of readRecords(this.#journal, this.execution, { tenant: this.#tenant, from: this.#head })) {
      if (!isForeign(record)) throw this.#fence(fence ?? takenOver(this.execution));
      foreign.push(record);
    }
    // The head moved, and nothing is there: the store contradicts itself.
    if (foreign.length === 0 && fence !== undefined) throw this.#fence(fence);
    this.#head += foreign.length;
    for (const record of foreign) this.#apply(record);
    if (foreign.length > 0) this.onForeign?.(foreign);
  }

  async #renew(): Promise<void> {
    // A store that is locked answers no renewal: they would pile up.
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    const { driver, leaseMs } = this.#driver;
    try {
      const head = await this.#journal.renew(this.execution, { driver, until: now() + leaseMs });
      if (head > this.#head) await this.catchUp();
    } catch (error) {
      // Another failure of the store shows at the next append.
      if (isHeadMoved(error)) this.#fence(error);
    } finally {
      this.#isRenewing = false;
    }
  }

  /** Called once before `onFenced`. */
  protected beforeFenced(): void {}

  #fence(error: unknown): unknown {
    cancel(this.#renewal);
    const { onFenced } = this;
    this.onFenced = undefined;
    if (onFenced) this.beforeFenced();
    onFenced?.(error);
    return error;
  }
}

function takenOver(execution: string): PortcullisError {
  return new PortcullisError(
    "head_moved",
    `Another driver has taken over execution ${JSON.stringify(execution)} and continues it. This driver has stopped.`,
  );
}

function isForeign(record: JournalRecord): record is ForeignRecord {
  return record.type === "decision" || record.type === "result" || record.type === "alive";
}

/** Whether a driver stops and leaves its execution open: another driver has it, or will take it up. */
export function leavesOpen(error: unknown): error is PortcullisError {
  return hasCode(error, "head_moved", "runtime_suspended");
}

/** Whether another driver has taken the execution over. */
export function isHeadMoved(error: unknown): error is PortcullisError {
  return hasCode(error, "head_moved");
}
