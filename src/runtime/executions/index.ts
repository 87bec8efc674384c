export { CONVERSATION, type ConversationStatus, ABOUT, LISTED, type ListedExecution } from "./listed-execution.ts";
export { decideFor } from "./decide.ts";
export { type OpenReason, type Recovered, type TakeUpResult, type Unrecovered } from "./recover.ts";
export { listExecution, listExecutions } from "./list-executions.ts";
export type { RecoveredConversation, RecoveredExecution } from "./recover-options.ts";
