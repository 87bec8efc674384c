export { createMemoryJournal } from "./memory-journal.ts";
export type { ExecutionSummary, Head, Journal } from "./journal.ts";
export type { MemoryJournalOptions } from "./memory-journal.ts";
export type {
  AnsweredRecord,
  CallHeader,
  CallRecord,
  ClaimRecord,
  ConversationHeader,
  DecisionRecord,
  EgressRecord,
  Header,
  JournalRecord,
  MessageRecord,
  OutcomeRecord,
  ProgramHeader,
  RestartRecord,
  ResultRecord,
  RetryRecord,
  ToolDigest,
  TurnRecord,
  ViolationRecord,
} from "./record.ts";
