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
        length: textLengthOf(header),
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
      if (entry.ended) {
        endedLength += ends ? entry.length : length;
        deleteOldest();
      }
      return entry.records.length;
    },
    async read(execution) {
      return [...find(execution).records];
    },
    async *list(): AsyncGenerator<ExecutionSummary> {
      for (const { header, records, ended } of [...entries.values()].toReversed()) {
        yield {
          execution: header.execution,
          tenant: header.tenant,
          startedAt: header.startedAt,
          records: records.length,
          ended,
        };
      }
    },
  };
}

function textLengthOf(header: Header): number {
  switch (header.kind) {
    case "program":
      return header.source.length + header.program.length;
    case "conversation":
      return header.task.length;
    case "call":
      return header.input.length;
  }
}

function lengthOf(record: JournalRecord): number {
  if (record.type === "turn")
    return record.event.length + record.commands.reduce((sum, command) => sum + command.length, 0);
  if (record.type === "message") return record.message.length;
  return record.type === "outcome" ? record.outcome.length : 128;
}
