export { createMemoryJournal, type MemoryJournalOptions } from "./memory-journal.ts";
export { exportLines, importLines } from "./lines.ts";
export { readLines } from "./reading/read-lines.ts";
export type {
  Appended,
  AppendOptions,
  ExecuteSql,
  ExecutionSummary,
  Head,
  Journal,
  JournalFinding,
  Lease,
  ListOptions,
  ReadOptions,
  WorkerNeeds,
} from "./journal.ts";
export type { JournalProblem, PruneOptions, StoredJournal } from "./stored-journal.ts";
export type { Header, JournalRecord, ToolDigest } from "./record.ts";
