import {
  Counts,
  defaultHeldBytes,
  type OptionsOf,
  PortcullisError,
  readOptions,
  sumOf,
  UNIT_BYTES,
  wholeNumberOrInfinity,
} from "../base/index.ts";
import { isGivenBack } from "./given-back.ts";
import { Listeners } from "./listeners.ts";
import type { Appended, ExecutionSummary, Head, Journal, Lease } from "./journal.ts";
import { driverChanged, executionExists, executionUnknown, headMoved } from "./journal-error.ts";
import { sumOfTexts } from "./reading/read-records.ts";
import type { Header, JournalRecord } from "./record.ts";

export const MEMORY_JOURNAL_RULES = {
  /**
   * Amount of text of ended executions to keep, in UTF-16 code units; the oldest of the tenant with most are deleted first. 24 Mi
   * by default.
   */
  keepLength: wholeNumberOrInfinity({ min: 0, default: 24 * 1024 * 1024 }),
};

export type MemoryJournalOptions = OptionsOf<typeof MEMORY_JOURNAL_RULES>;

interface Entry {
  readonly header: Header;
  readonly records: JournalRecord[];
  length: number;
  /** What it has started, and is open. */
  readonly below: Set<Entry>;
  ended: boolean;
  lease: Lease | undefined;
}

/**
 * A journal in this process's memory. Open executions are always kept. A tenant begins no further one, and goes on with no
 * conversation (`busy`), while its own hold more than all of them leave of a quarter of the memory of this process; ended ones
 * are kept within `keepLength`.
 */
export function createMemoryJournal(options: MemoryJournalOptions = {}): Journal {
  const { keepLength } = readOptions("createMemoryJournal", options, MEMORY_JOURNAL_RULES);
  const entries = new Map<string, Entry>();
  /** Executions that have ended, by tenant, in the order of their ends. In `entries`, thousands that wait may come before them. */
  const ended = new Map<string, Set<Entry>>();
  const endedLengths = new Counts();
  const open = openTexts();
  const listeners = new Listeners<Appended>();

  const find = (execution: string): Entry => {
    const entry = entries.get(execution);
    if (!entry) throw executionUnknown(execution, "A memory journal deletes ended executions beyond its keepLength.");
    return entry;
  };

  const aboveOf = ({ header: { parent } }: Entry) => (parent ? entries.get(parent.execution) : undefined);

  const deleteOldest = () => {
    while (endedLengths.all > keepLength) {
      const [tenant] = endedLengths.byKey.entries().reduce((most, other) => (other[1] > most[1] ? other : most));
      const own = ended.get(tenant);
      const [oldest, next] = own ?? [];
      if (!own || !oldest) return;
      own.delete(oldest);
      entries.delete(oldest.header.execution);
      endedLengths.add(tenant, -oldest.length);
      if (!next) ended.delete(tenant);
    }
  };

  return {
    async create(header, lease): Promise<Head> {
      if (entries.has(header.execution)) throw executionExists(header.execution);
      const length = lengthOf(header);
      const entry: Entry = { header, records: [header], length, below: new Set(), ended: false, lease };
      open.begin(entry);
      entries.set(header.execution, entry);
      aboveOf(entry)?.below.add(entry);
      listeners.tell({ execution: header.execution, head: 1 });
      return 1;
    },
    async append(execution, expected, records): Promise<Head> {
      const entry = find(execution);
      const { tenant } = entry.header;
      if (entry.records.length !== expected) throw headMoved(execution, entry.records.length, expected);
      const claim = records.findLast(({ type }) => type === "claim");
      if (claim && !records.some(({ type }) => type === "outcome")) open.goOn(entry);
      const length = sumOf(records, lengthOf);
      for (const record of records) entry.records.push(record);
      entry.length += length;
      if (!entry.ended) open.add(entry, length);
      const ends = !entry.ended && records.some(({ type }) => type === "outcome");
      if (ends) {
        entry.ended = true;
        open.add(entry, -entry.length);
        ended.set(tenant, (ended.get(tenant) ?? new Set()).add(entry));
        aboveOf(entry)?.below.delete(entry);
      }
      if (claim?.type === "claim") entry.lease = { driver: claim.driver, until: claim.at + claim.leaseMs };
      if (entry.ended) {
        endedLengths.add(tenant, ends ? entry.length : length);
        deleteOldest();
      }
      if (records.length > 0) listeners.tell({ execution, head: entry.records.length });
      return entry.records.length;
    },
    async *read(execution, { from = 0, hold } = {}): AsyncGenerator<JournalRecord> {
      const { records } = find(execution);
      const head = records.length;
      await hold?.(0);
      for (let position = from; position < head; position += 1) yield records[position] as JournalRecord;
    },
    find: async (execution) => summaryOf(find(execution)),
    async *list({ open, tenant, before } = {}): AsyncGenerator<ExecutionSummary> {
      const latest = [...entries.values()].toReversed().toSorted((a, b) => b.header.startedAt - a.header.startedAt);
      for (const entry of latest) {
        const { header } = entry;
        if (open === entry.ended || (tenant !== undefined && tenant !== header.tenant)) continue;
        if (before !== undefined && header.startedAt >= before) continue;
        yield summaryOf(entry);
      }
    },
    async renew(execution, lease): Promise<Head> {
      const entry = find(execution);
      if (entry.lease?.driver !== lease.driver) throw driverChanged(execution, entry.lease?.driver, lease);
      entry.lease = lease;
      if (isGivenBack(lease)) listeners.tell({ execution, head: entry.records.length, left: true });
      return entry.records.length;
    },
    onAppend: (listener): Disposable => listeners.add(listener),
  };
}

function openTexts() {
  const bytes = defaultHeldBytes();
  const lengths = new Counts();
  const refuseIfFull = (tenant: string, what: string): void => {
    if (lengths.of(tenant) <= bytes / UNIT_BYTES - lengths.all) return;
    throw new PortcullisError(
      "busy",
      `A journal in memory has room for ${Math.floor(bytes / 2 ** 20)} MiB of executions that are open, and this tenant holds as much as is left. ${what}: decide about, answer or end some of them, or keep the journal in a file (createSqliteJournal).`,
    );
  };
  const add = ({ header }: Entry, length: number): void => lengths.add(header.tenant, length);
  return {
    add,

    /** A tenant may hold as much as it leaves to others. What an execution that is open has started belongs to that. */
    begin(entry: Entry): void {
      const { tenant, parent } = entry.header;
      if (!parent) refuseIfFull(tenant, "Nothing was started");
      add(entry, entry.length);
    },

    /** A conversation grows with each message, and only what ends makes room. */
    goOn({ header: { kind, parent, tenant } }: Entry): void {
      if (kind === "conversation" && !parent) refuseIfFull(tenant, "Nothing was said");
    },
  };
}

function summaryOf(entry: Entry): ExecutionSummary {
  const { header, records, ended, lease } = entry;
  const { execution, kind, tenant, startedAt } = header;
  const heldLength = heldLengthOf(entry);
  return { execution, kind, tenant, startedAt, records: records.length, ended, heldLength, lease };
}

function heldLengthOf({ length, below }: Entry): number {
  return length + sumOf(below.values(), heldLengthOf);
}

/** What a record takes beside its texts, in characters. */
const RECORD_LENGTH = 128;

function lengthOf(record: JournalRecord): number {
  return RECORD_LENGTH + sumOfTexts(record, (text) => text.length);
}
