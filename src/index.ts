export { createRuntime, type DeriveOptions, Runtime, type RuntimeOptions } from "./runtime.ts";

export { type AgentReport } from "./agent/agent.ts";
export { agentAsTool, type AgentToolOptions } from "./agent/agent-as-tool.ts";
export type { AgentOptions } from "./agent/agent-options.ts";
export type { AgentEnding } from "./agent/ending.ts";
export type { AgentEvent } from "./agent/event.ts";
export { replayTranscript, type ReplayedTranscript } from "./agent/replay-transcript.ts";
export type { AgentUsage, ProgramsOption, Transcript, TranscriptTurn } from "./agent/transcript.ts";

export { anthropic } from "./models/anthropic-messages.ts";
export type {
  CallResult,
  Conversation,
  HostedProgramNews,
  Model,
  ModelCall,
  ModelTurn,
  ModelUsage,
  Opening,
  ProgramCall,
  ProgramDeclaration,
  Provenance,
  ProviderFailure,
  ProviderFailureCode,
  ToolCall,
  ToolDeclaration,
  TurnEnd,
  TurnReply,
  TurnRequest,
} from "./models/model.ts";
export { gemini } from "./models/gemini.ts";
export { openaiChat } from "./models/openai-chat.ts";
export { openai, type OpenAiOptions } from "./models/openai-responses.ts";
export type { ProviderOptions } from "./models/provider-options.ts";
export {
  type ScriptedCall,
  type ScriptedModel,
  scriptedModel,
  type ScriptedModelOptions,
  type ScriptedMoment,
  type ScriptedStep,
  type ScriptedTurn,
} from "./models/scripted.ts";

export { countTokens } from "./tools/count-tokens.ts";
export { declareTools, type DeclarationOptions } from "./tools/declarations.ts";
export { defineTool, type ToolOptions } from "./tools/define-tool.ts";
export { type AiSdkTool, fromAiSdk } from "./sources/from-ai-sdk.ts";
export { type AnthropicTool, fromAnthropic } from "./sources/from-anthropic.ts";
export { fromOpenAIAgents, type OpenAiAgentsTool } from "./sources/from-openai-agents.ts";
export type { ToolPolicies, ToolPolicy } from "./sources/tool-policy.ts";
export { jsonSchema, type JsonSchema, type Schema } from "./tools/schema.ts";
export type { CallContext, Caller, Effect, Tool } from "./tools/tool.ts";
export { ToolSet } from "./tools/tool-set.ts";

export type { FailureCode, RefusalCode } from "./gate/answer.ts";
export type { ApprovalRequest, Approve } from "./gate/approval.ts";
export type { CallLine } from "./gate/open-call.ts";
export type { CallEvent } from "./gate/session.ts";

export type { Output, Outcome, Report, Usage } from "./output/report.ts";
export type { Stub } from "./output/stub.ts";
export type { ExecutionEvent } from "./programs/execute.ts";
export type { ExecuteOptions } from "./programs/execute-options.ts";
export { DEFAULT_LIMITS, LIMIT_RULES, type Limits } from "./programs/limits.ts";
export type { Logs } from "./programs/log-collector.ts";
export type { CrashCode, Ending, Fault, StoppedBy } from "./programs/outcome.ts";
export { replay } from "./programs/replay.ts";
export type { Divergence, Replayed } from "./programs/replay-turns.ts";

export type { ExecutionSummary, Head, Journal } from "./journal/journal.ts";
export { createMemoryJournal, type MemoryJournalOptions } from "./journal/memory-journal.ts";
export type {
  CallRecord,
  AnsweredRecord,
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
} from "./journal/record.ts";

export { createDockerSandbox, type DockerSandbox } from "./sandboxes/docker/docker-sandbox.ts";
export type { DockerSandboxOptions } from "./sandboxes/docker/docker-options.ts";
export type { EgressOptions } from "./sandboxes/docker/egress/egress-plan.ts";
export { createIsolateSandbox } from "./sandboxes/isolate/isolate-sandbox.ts";
export type { IsolateSandboxOptions } from "./sandboxes/isolate/pool-options.ts";
export { createMemorySandbox, type GuestFace, type MemorySandboxOptions } from "./sandboxes/memory.ts";
export type {
  Connection,
  Exit,
  Guest,
  KillReason,
  OpenOptions,
  ResourceUsage,
  Sandbox,
  SandboxLimits,
} from "./sandboxes/sandbox.ts";

export { ERROR_CODES, type ErrorCode, PortcullisError } from "./errors.ts";
