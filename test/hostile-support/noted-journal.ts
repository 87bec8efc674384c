import { createMemoryJournal, type Journal, type JournalRecord } from "../../src/journal/index.ts";
import { WrappedJournal } from "../../src/journal/wrapped-journal.ts";

/**
 * A journal in memory that notes the kinds of the records written to it: a refusal as `refused CODE`, any other by its
 * type. Turns are not noted. It keeps little, because what it keeps would be measured as a leak.
 */
export class NotedJournal extends WrappedJournal {
  readonly kinds: string[] = [];

  constructor() {
    super(createMemoryJournal({ keepLength: 64 * 1024 }));
  }

  override append(...given: Parameters<Journal["append"]>) {
    for (const record of given[2]) if (record.type !== "turn") this.kinds.push(kindOf(record));
    return super.append(...given);
  }
}

function kindOf(record: JournalRecord): string {
  return record.type === "call" && record.decision === "refused" ? `refused ${record.code}` : record.type;
}
