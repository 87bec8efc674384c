export type {
  CallResult,
  Citation,
  ContentPart,
  ModelConversation,
  HostedNews,
  MessagePart,
  Model,
  ModelCall,
  ModelSettings,
  ModelTurn,
  ModelUsage,
  Opening,
  ProgramDeclaration,
  Provenance,
  ProviderFailure,
  Reasoning,
  ToolChoice,
  ToolDeclaration,
  TurnEnd,
  TurnReply,
  TurnRequest,
  UserMessage,
} from "./model.ts";
export type { HostedTool } from "./hosted-tools.ts";
export type { ProviderOptions } from "./provider/provider-options.ts";
export type { AnthropicOptions, OpenAiOptions } from "./provider/providers.ts";
