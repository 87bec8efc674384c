import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";

/** A journal in memory, and the executions whose records were read since it was last asked. */
export function notedReads(): { readonly journal: Journal; readonly readNow: () => readonly string[] } {
  const store = createMemoryJournal();
  const read = new Set<string>();
  const readNow = () => {
    const all = [...read];
    read.clear();
    return all;
  };
  return { journal: { ...store, read: (...asked) => (read.add(asked[0]), store.read(...asked)) }, readNow };
}
