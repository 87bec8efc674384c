import type { TokenUsage } from "../tools/token-usage.ts";
import type { JsonSchema } from "../tools/json-schema/json-schema.ts";
import type { TextFormat } from "../tools/text-format.ts";
import type { Caller } from "../tools/tool.ts";
import type { OptionsOf, SchemaType, TextReader } from "../base/index.ts";
import type { SETTINGS_RULES, ToolChoice } from "./setting-rules.ts";
import type {
  CALL_RESULT,
  CITATION,
  CONTENT_PART,
  HOSTED_CALL_NEWS,
  HOSTED_PROGRAM_NEWS,
  MESSAGE_PART,
  MODEL_TURN,
  PROGRAM_CALL,
  PROVENANCE,
  PROVIDER_FAILURE,
  TOOL_CALL,
  TURN_END,
  USER_MESSAGE,
} from "./turn-shape.ts";

/**
 * The port to a language model. An adapter translates between this port and a provider's protocol: it declares tools,
 * reads turns, sends results and counts usage. It runs nothing and decides nothing. Data that only the provider can
 * read (signatures, encrypted reasoning, containers, fingerprints) stays in the conversation and is sent back unchanged.
 */
export interface Model {
  /** Provider and model, like `anthropic:claude-opus-4-5`. */
  readonly name: string;
  /** Whether the provider itself can run programs that call our tools. */
  readonly hostsPrograms: boolean;
  /** Whether it gives summaries of its reasoning; missing if it is not known. */
  readonly givesSummaries?: boolean;
  /**
   * Fewest tokens of context above which the provider itself can make the history of a conversation shorter. Missing if it
   * cannot.
   */
  readonly compactsFrom?: number;
  /** Begins a conversation. Rejects with a `PortcullisError`, before any request, if the model does not support the opening. */
  converse(opening: Opening): Promise<ModelConversation>;
}

/** What stays the same in a whole conversation. */
export interface Opening {
  /** Written by this package and by the developer; never contains data from tools or users. */
  readonly instructions: string;
  readonly settings?: ModelSettings;
  /** Tokens of context above which the provider itself is to make the history shorter. */
  readonly compactAt?: number;
  readonly tools: readonly ToolDeclaration[];
  /**
   * Tools that the model may call once a search has found them (`CallResult.found`). The search is one of `tools`. An
   * adapter declares them from then on, or from the beginning if its provider hides them from the model.
   */
  readonly deferred?: readonly ToolDeclaration[];
  /** Ids of calls of earlier turns, which the conversation is not told of. It gives these ids to no call. */
  readonly usedIds?: readonly string[];
  /** The tool that takes the source of a program, if programs run locally. */
  readonly runProgram?: ProgramDeclaration;
  /** Whether hosted programs may call the tools that allow programs. */
  readonly hosted: boolean;
}

export type { Reasoning, ToolChoice } from "./setting-rules.ts";

/**
 * What a developer asks of a model. Before any request, an adapter refuses what its provider or a hosted program does
 * not take: `option_invalid` names the option.
 */
export interface ModelSettings extends OptionsOf<typeof SETTINGS_RULES> {
  /** JSON Schema of the answer. An adapter ignores it if its provider takes no schema beside tools. */
  readonly answer?: JsonSchema;
}

/** A message of the user: text, or text with images, files and links. */
export type UserMessage = SchemaType<typeof USER_MESSAGE>;
export type MessagePart = SchemaType<typeof MESSAGE_PART>;

/** Content that is not JSON. */
export type ContentPart = SchemaType<typeof CONTENT_PART>;

export interface ToolDeclaration {
  /** As defined. An adapter maps names that its provider does not accept, in both directions. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  /**
   * Of a tool whose input is one text: which texts it takes. A provider that has tools for texts gets the text itself; for
   * others `inputSchema` has one field `input`.
   */
  readonly textFormat?: TextFormat;
  readonly outputSchema?: JsonSchema;
  readonly callers: readonly Caller[];
}

export interface ProgramDeclaration {
  readonly name: string;
  readonly description: string;
}

/** A conversation: first `say`, then `turn` and `answer` alternately. A recorded turn takes the place of `turn` by `restore`. */
export interface ModelConversation {
  /**
   * Adds a message of the user. If a hosted program waits for results, the message is sent after it has ended. Throws
   * `option_invalid` for a part that the provider does not take.
   */
  say(message: UserMessage): void;
  /**
   * Requests the next turn. Failures of the provider are replies of type `failed`; they do not reject. Throws
   * `option_invalid` for a `toolChoice` that cannot be met.
   */
  turn(request: TurnRequest): Promise<TurnReply>;
  /** Takes one result for each call of the last turn, in any order. The next turn sends all of them together. */
  answer(results: readonly CallResult[]): void;
  /**
   * Whether a message of the user is still unsent: the last request could only answer a hosted program that waited for
   * results. Missing if messages are always sent with the next turn.
   */
  readonly holdsMessages?: boolean;
  /**
   * What only the provider can read of the last turn, as text for `restore`; undefined if there is nothing. It is kept
   * in the journal and shown nowhere else.
   */
  readonly opaque?: string | undefined;
  /**
   * Names of tools that the provider does not hold to their schemas, although it was asked to hold all. Missing if it was
   * not asked.
   */
  readonly notStrict?: readonly string[];
  /** Names of tools of whose inputs the provider is told otherwise than their schemas say, because it does not take all of them. */
  readonly toldOtherwise?: readonly string[];
  /**
   * Takes over a recorded turn with its `opaque`: the next request is the same as if the turn had been asked for here.
   * Throws `journal_invalid` if the two do not belong together. Without this method another process cannot take up a
   * conversation, and its tools cannot be changed.
   */
  restore?(turn: ModelTurn, opaque: string | undefined): void;
}

export interface TurnRequest {
  readonly signal: AbortSignal;
  /** Maximum of output tokens; each adapter also applies its own limit. */
  readonly maxTokens: number;
  /** Called with each piece of the model's text; once for the whole text if replies are not streamed. */
  readonly onText: (text: string) => void;
  /** In place of the opening's choice, for this turn alone. `none` keeps the tools declared if the provider can forbid calls. */
  readonly toolChoice?: ToolChoice;
  /** Called with each piece of a summary of the model's reasoning, if summaries were asked for. For display only. */
  readonly onReasoning?: (text: string) => void;
  /**
   * Called with each piece of a call's input, or of the source of a program, also a hosted one, while the model writes
   * it. Called once if replies are not streamed. For display only: the input may never become whole, and a turn that
   * was cut off has no calls. Of a very long input the rest is not shown, as the last piece says.
   */
  readonly onArgument?: (piece: ArgumentPiece) => void;
  /** Who the texts of the reply are read for, on the thread that reads if they are large; for nobody if it is missing. */
  readonly reader?: TextReader;
  /** Called before a failed request is repeated. It may wait. If it rejects, `turn` rejects with the same error. */
  readonly onRetry?: (retry: RequestRetry) => void | Promise<void>;
}

/** A piece of the input of a call, or of the source of a hosted program, while the model writes it. */
export interface ArgumentPiece {
  /** Tells the inputs of a turn apart: from 0, in the order in which they begin. */
  readonly index: number;
  /** Name as defined; `run_program` for programs. */
  readonly tool: string;
  readonly text: string;
}

export interface RequestRetry {
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** A sentence without a key or a body. */
  readonly reason: string;
  readonly delayMs: number;
}

export type TurnReply =
  | ModelTurn
  | { readonly type: "failed"; readonly failure: ProviderFailure; readonly usage?: ModelUsage }
  | { readonly type: "aborted" };

/** A complete turn. A turn that was cut off has no calls. */
export type ModelTurn = SchemaType<typeof MODEL_TURN>;

export type TurnEnd = SchemaType<typeof TURN_END>;

/** Whether a turn that ended so counts: of another turn no call is made, and it is not sent to a model again. */
export function isWholeEnd({ type }: TurnEnd): boolean {
  return type !== "cut_off" && type !== "refused" && type !== "invalid";
}

export type ModelCall = ToolCall | ProgramCall;

export type ToolCall = SchemaType<typeof TOOL_CALL>;

/** A call of the tool that takes a program. */
export type ProgramCall = SchemaType<typeof PROGRAM_CALL>;

export type HostedProgramNews = SchemaType<typeof HOSTED_PROGRAM_NEWS>;

export type HostedCallNews = SchemaType<typeof HOSTED_CALL_NEWS>;

/** What a provider ran itself. */
export type HostedNews = HostedProgramNews | HostedCallNews;

export type Citation = SchemaType<typeof CITATION>;

/** The result of one call. Adapters send it only in the block that the provider has for results. */
export type CallResult = SchemaType<typeof CALL_RESULT>;

/** Where a result comes from. */
export type Provenance = SchemaType<typeof PROVENANCE>;

/** Tokens of one turn. */
export type ModelUsage = TokenUsage;

export const NO_USAGE: ModelUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };

function joinedUsage(all: readonly ModelUsage[], join: (one: number, other: number) => number): ModelUsage {
  const joined = (field: keyof ModelUsage) => all.reduce((before, usage) => join(before, usage[field]), 0);
  return {
    inputTokens: joined("inputTokens"),
    outputTokens: joined("outputTokens"),
    cachedInputTokens: joined("cachedInputTokens"),
  };
}

export function sumOfUsage(all: readonly ModelUsage[]): ModelUsage {
  return joinedUsage(all, (one, other) => one + other);
}

/** The usage of a reply that tells it several times. Counters grow; some servers repeat them with 0 where they have no news. */
export function highestUsage(all: readonly ModelUsage[]): ModelUsage {
  return joinedUsage(all, (one, other) => Math.max(one, other));
}

export type { ProviderFailureCode } from "./turn-shape.ts";

/** Why a provider gave no turn. */
export type ProviderFailure = SchemaType<typeof PROVIDER_FAILURE>;
