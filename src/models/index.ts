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
} from "./model.ts";
export type { ProviderOptions } from "./provider-options.ts";
export type { OpenAiOptions } from "./providers.ts";
