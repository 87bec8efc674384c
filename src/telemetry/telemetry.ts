/**
 * The facts of the runtime's work that become spans and metrics. A scope has a `Telemetry` only while an SDK records:
 * otherwise a report costs a comparison. No method throws, whatever the SDK does.
 */
export interface Telemetry {
  /** Begins the span of a program's execution, below the span that is active. */
  beginProgram(about: ProgramWork): WorkSpan;
  /** Begins the span of a conversation that is driven, below the span that is active. */
  beginConversation(about: ConversationWork): ConversationSpan;
  /** For calls that a host makes itself, below the span that is active. */
  hostCalls(): CallSpans;
  /** The active span as `traceparent`; undefined if no span is active. */
  readonly here: string | undefined;
  /** Counts the bytes of a program's result that a model is given. */
  noteOutput(bytes: number): void;
}

interface Work {
  readonly execution: string;
  readonly tenant: string;
  /** Spans of the first and the last earlier driver, as the journal has them. The new span has links to them. */
  readonly before?: readonly (string | undefined)[];
}

export interface ProgramWork extends Work {
  readonly language: string;
  readonly sandbox: string;
  readonly source: string;
  /** The call of a conversation that the program belongs to. */
  readonly callId?: string | undefined;
}

export interface ConversationWork extends Work {
  /** Provider and model, like `anthropic:claude-opus-4-5`. */
  readonly model: string;
}

export interface CallSpans {
  begin(call: CallWork): CallSpan;
  /** A call that was refused before it had a span. Its name may be any text. */
  refused(end: CallEnd & { readonly tool: string; readonly callId: string }): void;
}

/** A call of a known tool. */
export interface CallWork {
  readonly callId: string;
  readonly tool: string;
  /** `direct` or `programmatic`. */
  readonly caller: string;
  /** JSON text. It is kept only if inputs are captured. */
  readonly inputText: string;
}

export interface CallSpan {
  /** Runs the handler, while the span is active. */
  run<Value>(handler: () => Value): Value;
  end(end: CallEnd): void;
}

export interface CallEnd {
  /** `value`, `refused`, `failed`, `aborted`; `waiting` if the call is left to another driver. */
  readonly outcome: string;
  /** Code of a refusal or a failure. */
  readonly code?: string | undefined;
  /** UTF-8 bytes of the result. */
  readonly bytes: number;
  /** Of a stream: number of the items that the program was given. */
  readonly items?: number | undefined;
  /** The result as JSON text. It is kept only if results are captured. */
  readonly text?: string | undefined;
}

/** The span of an execution or a conversation, for as long as one driver drives it. */
export interface WorkSpan extends CallSpans {
  /** The span as W3C `traceparent`, for the journal; undefined if it cannot be linked to. */
  readonly traceparent: string | undefined;
  /** Runs work, while the span is active. */
  run<Value>(work: () => Value): Value;
  /** Resolves once the captured texts are redacted and the span has ended. */
  end(end: WorkEnd): Promise<void>;
  /** Ends the span of work that was not begun, as an error if there is a code. The work is not counted among the executions. */
  notBegun(code: string | undefined): Promise<void>;
}

export interface WorkEnd {
  /** One word, like `completed`. */
  readonly outcome: string;
  /** Code of a failure, never chosen by a program; undefined without a failure. */
  readonly code?: string | undefined;
  /** Amounts that the work has used, by name: counts, bytes or milliseconds. */
  readonly usage?: Readonly<Record<string, number>>;
  /** The value as JSON text. It is kept only if results are captured. */
  readonly value?: string | undefined;
  /** The message of a fault. It is kept only if results are captured. */
  readonly fault?: string | undefined;
}

export interface ConversationSpan extends WorkSpan {
  /** Asks a model for a turn, within a span of its own. `endOf` says how it ended. */
  chat<Reply>(model: string, ask: () => Promise<Reply>, endOf: (reply: Reply) => ChatEnd): Promise<Reply>;
}

export interface ChatEnd {
  /** Why the model stopped, as GenAI conventions name it: `stop`, `tool_calls`, `length`, `content_filter`. */
  readonly finish?: string | undefined;
  /** Code of the provider's failure. */
  readonly code?: string | undefined;
  readonly usage?: ChatUsage | undefined;
  /** Whom the turn came from: ids of the provider, and versions of what read it. */
  readonly origin?: ChatOrigin | undefined;
}

export interface ChatOrigin {
  readonly message?: string;
  readonly request?: string;
  readonly sdk?: string;
  readonly portcullis?: string;
}

export interface ChatUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
}
