export { CONVERSATION, type ConversationStatus } from "./conversation-status.ts";
export { decide } from "./decide.ts";
export type { OpenReason } from "./left-open.ts";
export { listExecution, listExecutions } from "./list-executions.ts";
export { ABOUT, LISTED, type ListedExecution } from "./listed-execution.ts";
export type { RecoveredConversation, RecoveredExecution } from "./recover-options.ts";
export type { Recovered, TakeUpResult, Unrecovered } from "./recover.ts";
