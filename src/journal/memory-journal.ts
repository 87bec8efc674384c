import { PortcullisError } from "../errors.ts";
import { type OptionsOf, readOptions, wholeNumberOrInfinity } from "../options/options.ts";
import type { ExecutionSummary, Head, Journal } from "./journal.ts";
import type { Header, JournalRecord } from "./record.ts";

const MEMORY_JOURNAL_RULES = {
  /** Amount of text of ended executions to keep, in UTF-16 code units; the oldest are deleted first. 24 Mi by default. */
  keepLength: wholeNumberOrInfinity({ min: 0, default: 24 * 1024 * 1024 }),
};

export type MemoryJournalOptions = OptionsOf<typeof MEMORY_JOURNAL_RULES>;

interface Entry {
  readonly header: Header;
  readonly records: JournalRecord[];
  length: number;
  ended: boolean;
  driver?: string;
  leasedUntil?: number;
}

/** A journal in this process's memory. Running executions are always kept; ended ones within `keepLength`. */
export function createMemoryJournal(options: MemoryJournalOptions = {}): Journal {
  const { keepLength } = readOptions("createMemoryJournal", options, MEMORY_JOURNAL_RULES);
  const entries = new Map<string, Entry>();
  let endedLength = 0;

  const find = (execution: string): Entry => {
    const entry = entries.get(execution);
    if (!entry)
      throw new PortcullisError(
        "execution_unknown",
        `The journal holds no execution ${JSON.stringify(execution)}. The memory journal deletes ended executions beyond its keepLength.`,
      );
    return entry;
  };

  const deleteOldest = () => {
    for (const [execution, entry] of entries) {
      if (endedLength <= keepLength) return;
      if (!entry.ended) continue;
      endedLength -= entry.length;
      entries.delete(execution);
    }
  };

  return {
    async create(header): Promise<Head> {
      if (entries.has(header.execution))
        throw new PortcullisError(
          "execution_exists",
          `The journal already holds an execution ${JSON.stringify(header.execution)}.`,
        );
      entries.set(header.execution, {
        header,
        records: [header],
        length: header.kind === "program" ? header.source.length + header.program.length : header.task.length,
        ended: false,
      });
      return 1;
    },
    async append(execution, expected, records): Promise<Head> {
      const entry = find(execution);
      if (entry.records.length !== expected) {
        throw new PortcullisError(
          "head_moved",
          `Execution ${JSON.stringify(execution)} has ${entry.records.length} records, not ${expected}: another driver has appended to it.`,
        );
      }
      const length = records.reduce((sum, record) => sum + lengthOf(record), 0);
      for (const record of records) entry.records.push(record);
      entry.length += length;
      const ends = !entry.ended && records.some(({ type }) => type === "outcome");
      if (ends) entry.ended = true;
      const claim = records.findLast(({ type }) => type === "claim");
      if (claim?.type === "claim") {
        entry.driver = claim.driver;
        entry.leasedUntil = claim.at + claim.leaseMs;
      }
      if (entry.ended) {
        endedLength += ends ? entry.length : length;
        deleteOldest();
      }
      return entry.records.length;
    },
    async *read(execution, { from = 0 } = {}): AsyncGenerator<JournalRecord> {
      yield* find(execution).records.slice(from);
    },
    async *list({ open, tenant, before } = {}): AsyncGenerator<ExecutionSummary> {
      for (const { header, records, ended, driver, leasedUntil } of [...entries.values()].toReversed()) {
        if (open === ended || (tenant !== undefined && tenant !== header.tenant)) continue;
        if (before !== undefined && header.startedAt >= before) continue;
        yield {
          execution: header.execution,
          kind: header.kind,
          tenant: header.tenant,
          startedAt: header.startedAt,
          records: records.length,
          ended,
          ...(driver === undefined ? {} : { driver }),
          ...(leasedUntil === undefined ? {} : { leasedUntil }),
        };
      }
    },
    async renew(execution, driver, until): Promise<void> {
      const entry = find(execution);
      if (entry.driver !== driver)
        throw new PortcullisError(
          "head_moved",
          `Execution ${JSON.stringify(execution)} is driven by ${JSON.stringify(entry.driver)} now, no longer by ${JSON.stringify(driver)}.`,
        );
      entry.leasedUntil = until;
    },
  };
}

function lengthOf(record: JournalRecord): number {
  if (record.type === "turn")
    return record.event.length + record.commands.reduce((sum, command) => sum + command.length, 0);
  if (record.type === "message") return record.message.length;
  return record.type === "outcome" ? record.outcome.length : 128;
}
