export { createRuntime } from "./runtime/create-runtime.ts";
export type {
  CallOptions,
  DeriveOptions,
  ExecutionHandle,
  Runtime,
  RuntimeOptions,
  SearchOptions,
  SearchToolsOptions,
} from "./runtime/create-runtime.ts";

export type { ExecutionEvent } from "./executions/event.ts";
export type { ExecuteOptions } from "./executions/execute-options.ts";
export type { Unrecovered } from "./runtime/executions/recover.ts";
export type {
  RecoveredConversation,
  RecoveredExecution,
  RecoverOptions,
} from "./runtime/executions/recover-options.ts";
export type { ClientResult, Decision } from "./executions/decide.ts";
export type { ResumeOptions } from "./executions/resume-options.ts";
export type { Limits } from "./executions/limits.ts";
export type { Outcome } from "./executions/outcome.ts";
export type { Report } from "./executions/output/report.ts";
export { createSqliteJournal } from "./journal/sqlite/sqlite-journal.ts";
export type { SqliteJournal, SqliteJournalOptions } from "./journal/sqlite/sqlite-journal.ts";
export type { ExecutionId } from "./base/index.ts";

export { agentAsTool, type AgentToolOptions } from "./conversations/as-tools/agent-as-tool.ts";
export type { ResumeAgentOptions } from "./conversations/agent-options.ts";
export type { AgentReport } from "./conversations/agent-report.ts";
export type { AgentOptions } from "./conversations/agent-options.ts";
export type { AgentEnding, AgentEvent } from "./conversations/event.ts";
export type { ConversationOptions } from "./conversations/agent-options.ts";
export type { Conversation } from "./conversations/conversation.ts";

export type { AsToolOptions, LoopTools } from "./frameworks/loops.ts";

export { webSearch } from "./models/hosted-tools.ts";
export { anthropic, gemini, openai, openaiChat } from "./models/provider/providers.ts";

export { content } from "./tools/content.ts";
export type { Content, PartHandle, PartInput } from "./tools/content.ts";
export { redactSecrets } from "./journal/redaction/redact-secrets.ts";
export { defineTextTool } from "./tools/define-text-tool.ts";
export { defineTool } from "./tools/define-tool.ts";
export { jsonSchema } from "./tools/schema.ts";
export type { DeclarationOptions } from "./tools/declarations/declarations.ts";
export type { Redact, RedactFinding, RedactRequest } from "./journal/redaction/redact-option.ts";
export type { TextToolOptions } from "./tools/define-text-tool.ts";
export type { ToolOptions } from "./tools/define-tool.ts";
export type { JsonSchema } from "./tools/json-schema/json-schema.ts";
export type { Schema } from "./tools/schema.ts";
export type { CallContext, Caller, Effect, Tool, ToolAudience } from "./tools/tool.ts";
export type { FoundTool } from "./tools/search/tool-search.ts";
export type { ToolSet } from "./tools/tool-set.ts";

export { fromAiSdk } from "./sources/from-ai-sdk.ts";
export { fromAnthropic } from "./sources/from-anthropic.ts";
export type { McpSource } from "./sources/mcp/from-mcp.ts";
export type { McpServer } from "./sources/mcp/mcp-options.ts";
export { fromMcp, fromMcpConfig, fromOpenApi } from "./sources/on-demand.ts";
export type { OpenApiOptions, OpenApiPolicies, OpenApiSource } from "./sources/openapi/from-openapi.ts";
export { fromOpenAIAgents } from "./sources/from-openai-agents.ts";
export type { ToolPolicies, ToolPolicy } from "./sources/tool-policy.ts";

export type { ApprovalRequest, Approve } from "./gate/approve/approval.ts";
export type { CallAnswer } from "./gate/call-tool.ts";
export type { Logger } from "./gate/run/failure-log.ts";

export { PortcullisError } from "./base/index.ts";
export type { ErrorCode } from "./base/index.ts";
