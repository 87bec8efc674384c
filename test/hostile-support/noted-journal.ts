import { createMemoryJournal, type Journal, type JournalRecord } from "../../src/journal/index.ts";

/**
 * A journal in memory that notes the kinds of the records written to it: a refusal as `refused CODE`, any other by its
 * type. Turns are not noted. It keeps little, because what it keeps would be measured as a leak.
 */
export class NotedJournal implements Journal {
  readonly kinds: string[] = [];
  readonly #journal = createMemoryJournal({ keepLength: 64 * 1024 });
  readonly create: Journal["create"] = (header, lease) => this.#journal.create(header, lease);
  readonly read: Journal["read"] = (execution, options) => this.#journal.read(execution, options);
  readonly list: Journal["list"] = (options) => this.#journal.list(options);
  readonly find: Journal["find"] = (execution) => this.#journal.find(execution);
  readonly renew: Journal["renew"] = (execution, lease) => this.#journal.renew(execution, lease);

  append: Journal["append"] = (execution, expected, records) => {
    for (const record of records) if (record.type !== "turn") this.kinds.push(kindOf(record));
    return this.#journal.append(execution, expected, records);
  };
}

function kindOf(record: JournalRecord): string {
  return record.type === "call" && record.decision === "refused" ? `refused ${record.code}` : record.type;
}
