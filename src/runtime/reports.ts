export type { SendOptions } from "../conversations/agent-options.ts";
export type { Notice, SaidMessage } from "../conversations/prompt/said-message.ts";
export type { Step } from "../conversations/conversation.ts";
export type { ContextDocument, Instructions } from "../conversations/prompt/instructions.ts";
export type { AgentUsage, Transcript, TranscriptTurn } from "../conversations/from-journal/conversation-state.ts";
export type { ProgramsOption } from "../conversations/prompt/programs-option.ts";
export type { FailureCode, RefusalCode } from "../gate/answer.ts";
export type { FailureEntry } from "../gate/run/failure-log.ts";
export type { CallLine, CallOutcome } from "../gate/call-line.ts";
export type { CallEvent } from "../gate/call-event.ts";
export type { Output, Usage } from "../executions/output/report-shape.ts";
export type {
  CrashCode,
  Fault,
  Logs,
  StoppedBy,
  Waiting,
  WaitingApproval,
  WaitingCall,
} from "../executions/outcome.ts";
export type { Divergence } from "../executions/guest/replay-turns.ts";
export type { ExecutionStatus } from "./execution-handle.ts";
export { type ConversationStatus, type ListedExecution } from "./executions/listed-execution.ts";
export type { ReportArtifact } from "../executions/output/artifacts.ts";
