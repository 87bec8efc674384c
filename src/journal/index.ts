export { createMemoryJournal } from "./memory-journal.ts";
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
export type { MemoryJournalOptions } from "./memory-journal.ts";
export type {
  AliveRecord,
  AnsweredRecord,
  ArtifactRecord,
  CallHeader,
  CallRecord,
  ClaimRecord,
  CompactRecord,
  ContinuedRef,
  ConversationHeader,
  DecisionRecord,
  EgressRecord,
  HandRecord,
  Header,
  JournalRecord,
  MessageRecord,
  ModelRecord,
  OutcomeRecord,
  ProgramHeader,
  RestRecord,
  RestartRecord,
  ResultRecord,
  RetryRecord,
  ShownDefinition,
  ToolDigest,
  ToolsRecord,
  TurnRecord,
  ViolationRecord,
} from "./record.ts";
