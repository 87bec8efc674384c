export type { SayOptions } from "./agent/agent-options.ts";
export type { Notice, SaidMessage } from "./agent/prompt/said-message.ts";
export type { Step, StepCall } from "./agent/converse.ts";
export type { ContextDocument, Instructions } from "./agent/prompt/instructions.ts";
export type { AgentUsage, Transcript, TranscriptTurn } from "./agent/from-journal/transcript.ts";
export type { ProgramsOption } from "./agent/prompt/programs-option.ts";
export type { FailureCode, RefusalCode } from "./gate/answer.ts";
export type { FailureEntry } from "./gate/run/failure-log.ts";
export type { CallLine, CallOutcome } from "./gate/call-line.ts";
export type { CallEvent } from "./gate/call-event.ts";
export type { Output, Usage } from "./output/report-shape.ts";
export type { Stub } from "./output/large-value.ts";
export type {
  ConnectionTotals,
  CrashCode,
  Fault,
  Logs,
  StoppedBy,
  Waiting,
  WaitingApproval,
  WaitingCall,
} from "./programs/outcome.ts";
export type { Divergence, Replayed } from "./programs/guest/replay-turns.ts";
export type { ExecutionStatus } from "./host/execution-handle.ts";
export type { ConversationStatus } from "./executions/conversation-status.ts";
export type { ListedExecution } from "./executions/listed-execution.ts";
export type { ReportArtifact } from "./output/artifacts.ts";
