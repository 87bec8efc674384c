import { ALL_TESTS } from "./all-tests.ts";
import { createMemoryJournal, type Journal, type JournalRecord } from "../../src/journal/index.ts";

/** A journal, or this one, with these records of one execution: what another process finds after a death. */
export async function journalWith(
  [header, ...others]: readonly JournalRecord[],
  journal: Journal = createMemoryJournal(),
): Promise<Journal> {
  if (header?.type !== "header") throw new Error("The first record is the header.");
  await journal.create(header);
  await journal.append(header.execution, 1, others);
  return journal;
}

/** An execution as it is in the journal of a host that died after `count` of its records, or after all. */
export async function leftOf(journal: Journal, execution: string, count?: number): Promise<Journal> {
  return journalWith((await Array.fromAsync(journal.read(execution))).slice(0, count));
}

/** After how many records a host dies: after any number, or in `make test` after the last one of each kind. */
export function cutsOf(records: readonly JournalRecord[]): readonly number[] {
  const all = records.map((record, at) => [record.type === "message" ? record.from : record.type, at + 1] as const);
  return ALL_TESTS ? all.map(([, cut]) => cut) : [...new Map(all).values()];
}

/** All executions of a journal, each with those of its records that `kept` gives. */
export async function copyOf(
  journal: Journal,
  kept: (records: readonly JournalRecord[], execution: string) => readonly JournalRecord[],
): Promise<Journal> {
  const copy = createMemoryJournal();
  for await (const { execution } of journal.list())
    await journalWith(kept(await Array.fromAsync(journal.read(execution)), execution), copy);
  return copy;
}

/** A journal that notes each record in the order in which all its executions append. */
export function recorded(): {
  readonly journal: Journal;
  readonly appended: (readonly [execution: string, record: JournalRecord])[];
} {
  const appended: (readonly [string, JournalRecord])[] = [];
  const journal = createMemoryJournal();
  return {
    appended,
    journal: {
      ...journal,
      create: async (header, lease) => {
        const head = await journal.create(header, lease);
        appended.push([header.execution, header]);
        return head;
      },
      append: async (execution, expected, records, options) => {
        const head = await journal.append(execution, expected, records, options);
        for (const record of records) appended.push([execution, record]);
        return head;
      },
    },
  };
}

/** What was recorded as it was after `count` records of all executions, an hour ago: nobody holds any. */
export async function cutAfter(appended: ReturnType<typeof recorded>["appended"], count: number): Promise<Journal> {
  const copy = createMemoryJournal();
  const heads = new Map<string, number>();
  for (const [execution, given] of appended.slice(0, count)) {
    const record = "at" in given ? { ...given, at: given.at - 3_600_000 } : given;
    const head = heads.get(execution);
    if (record.type === "header") heads.set(execution, await copy.create(record));
    else if (head !== undefined) heads.set(execution, await copy.append(execution, head, [record]));
  }
  return copy;
}
