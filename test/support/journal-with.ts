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
