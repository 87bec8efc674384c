import type { TokenUsage } from "../gate/budget.ts";
import type { JsonSchema } from "../tools/schema.ts";
import type { Caller } from "../tools/tool.ts";

/**
 * The one port to a language model. An adapter speaks a provider's words and nothing else: it declares tools, reads a
 * turn, hands answers over and counts usage. It runs nothing and decides nothing. What only its provider can read
 * (signatures, encrypted reasoning, containers, fingerprints) stays inside the conversation and goes back as it came.
 */
export interface Model {
  /** Provider and model, like `anthropic:claude-opus-4-5`. */
  readonly name: string;
  /** Whether the provider itself can run programs that call our tools. */
  readonly hostsPrograms: boolean;
  /** Begins a conversation. Rejects with a `PortcullisError` where the model cannot do what is asked, before any request. */
  converse(opening: Opening): Promise<Conversation>;
}

/** What a conversation begins with, the same for all of it. */
export interface Opening {
  /** Ours, never anybody's data. */
  readonly instructions: string;
  readonly tools: readonly ToolDeclaration[];
  /** The tool that takes a program's text, where programs run here. */
  readonly runProgram?: ProgramDeclaration;
  /** Whether the provider's own programs may call the tools that are for programs. */
  readonly hosted: boolean;
}

export interface ToolDeclaration {
  /** As it is defined. What the provider does not take is shortened by the adapter, and mapped back. */
  readonly name: string;
  readonly description: string;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  readonly callers: readonly Caller[];
}

export interface ProgramDeclaration {
  readonly name: string;
  readonly description: string;
}

/** One conversation, in one order: say, then turn and answer by turns. */
export interface Conversation {
  /** Says something as the user. While a program of the provider waits for answers, it is held back until that has ended. */
  say(text: string): void;
  /** Asks for the next turn. Never rejects for what a provider does. */
  turn(request: TurnRequest): Promise<TurnReply>;
  /** Answers every call of the last turn, each once, in any order. They leave together, with the next turn. */
  answer(results: readonly CallResult[]): void;
}

export interface TurnRequest {
  readonly signal: AbortSignal;
  /** Tokens that the reply may have at most, where the provider can be told. */
  readonly maxTokens: number;
  /** Told the model's words as they come, where they are streamed. */
  readonly onText: (text: string) => void;
}

export type TurnReply =
  | ModelTurn
  | { readonly type: "failed"; readonly failure: ProviderFailure; readonly usage?: ModelUsage }
  | { readonly type: "aborted" };

/** A whole turn. Nothing of a turn that broke off, or was cut off, gets here as a call. */
export interface ModelTurn {
  readonly type: "turn";
  /** The model's words in this turn, and nothing of what it thought. */
  readonly text: string;
  readonly calls: readonly ModelCall[];
  /** What programs of the provider did in this turn. */
  readonly hosted: readonly HostedProgramNews[];
  readonly end: TurnEnd;
  readonly usage: ModelUsage;
}

export type TurnEnd =
  /** The model has said all it has to say. */
  | { readonly type: "answered" }
  /** It waits for the answers to `calls`; at least one. */
  | { readonly type: "called" }
  /** The provider wants to be asked again, with nothing new. */
  | { readonly type: "unfinished" }
  | { readonly type: "refused"; readonly reason: string }
  /** A limit of tokens or of the context cut it off; what it was about to call is not to be trusted. */
  | { readonly type: "cut_off"; readonly reason: string };

export type ModelCall = ToolCall | ProgramCall;

interface AnyCall {
  /** Unique in the conversation. The provider's own, where that is. */
  readonly id: string;
}

export interface ToolCall extends AnyCall {
  readonly type: "tool_call";
  /** Name as it was declared, or whatever the model said where nothing was declared by that. */
  readonly tool: string;
  /** `unknown` where the provider names a kind of caller that nobody here knows. */
  readonly caller: Caller | "unknown";
  /** JSON text, as far as it is JSON. Not looked at by the adapter. */
  readonly inputText: string;
  /** The provider's program that calls. */
  readonly program?: string;
  /** Milliseconds since 1970 after which the provider takes no answer. */
  readonly answerBy?: number;
}

/** A call of the tool that takes a program. */
export interface ProgramCall extends AnyCall {
  readonly type: "program_call";
  /** Undefined where the model sent something that is no program's text. */
  readonly source: string | undefined;
}

export type HostedProgramNews =
  | { readonly type: "hosted_program_started"; readonly program: string; readonly source: string }
  | {
      readonly type: "hosted_program_ended";
      readonly program: string;
      /** What it printed, which the model has read; undefined where only the provider can read it. */
      readonly output: string | undefined;
      readonly isError: boolean;
    };

/** The answer to one call. It travels in the block that providers have for results, and nowhere else. */
export interface CallResult {
  readonly callId: string;
  /** JSON where the call got a value, else a sentence. */
  readonly text: string;
  readonly isJson: boolean;
  readonly isError: boolean;
  readonly provenance: Provenance;
}

/** Where a result comes from. */
export interface Provenance {
  readonly tool: string;
  /** UTF-8 bytes of the whole result, before anything was cut. */
  readonly bytes: number;
  /** What was left out, in words. */
  readonly cut?: string;
}

/** Of one turn. */
export type ModelUsage = TokenUsage;

/** Why a provider gave no turn. */
export interface ProviderFailure {
  readonly code: ProviderFailureCode;
  /** A sentence for the operator, without secrets. */
  readonly message: string;
  /** HTTP status, where there was one. */
  readonly status?: number;
}

export type ProviderFailureCode =
  /** The key is wrong, or may not do this. */
  | "key_refused"
  | "rate_limited"
  | "overloaded"
  /** The provider does not take the request: it knows no such model, or feature, or the conversation is too long. */
  | "request_refused"
  | "server_failed"
  | "timed_out"
  | "unreachable"
  /** The reply broke off. */
  | "interrupted"
  /** The reply is not what this provider's protocol says. */
  | "reply_invalid";
