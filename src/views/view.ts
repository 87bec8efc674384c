import type { ExecutionId } from "../journal/execution-id.ts";
import type { Header } from "../journal/record.ts";

/** The beginning of a text. */
export interface TextHead {
  readonly text: string;
  /** UTF-8 bytes of the whole text. */
  readonly bytes: number;
  /** The rest is left out; `viewCall` gives the whole. */
  readonly cut?: true;
}

/**
 * The state of an execution. `waiting`: it continues only with a decision, a client's result or, in a conversation, the
 * user.
 */
export type ViewState = "running" | "waiting" | "ended";

/** The state of one call. `open`: it has no answer and waits for nothing from outside. */
export type CallState = "open" | "waiting" | "value" | "refused" | "failed" | "aborted";

/** One call. `turn`s count from 0. */
export interface CallView {
  /** As `decide` takes it: `3`, or `call_2/3` in a conversation. */
  readonly id: string;
  readonly tool: string;
  readonly caller: string;
  readonly state: CallState;
  /** Code of a refusal or failure, kind of a value like `array of 200`. */
  readonly detail?: string;
  /** The turn that made it. */
  readonly made: number;
  /** The turn that began with its answer; missing without one. */
  readonly told?: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds from the call to its answer; missing while there is none. */
  readonly ms?: number;
  /** Absent where the call was refused before its input was read. */
  readonly input: TextHead;
  /** JSON text of the value, or the message of a refusal or failure; missing while none has been delivered. */
  readonly result?: TextHead;
  /** UTF-8 bytes of the value's JSON; 0 without one. */
  readonly bytes: number;
  readonly started: boolean;
  readonly effect?: string;
  /** How often the handler was run, where it was run again. */
  readonly attempts?: number;
  readonly decision?: DecisionView;
  /** The handler's text for people (`display`), as JSON text. */
  readonly display?: string;
}

export interface DecisionView {
  readonly decision: "allowed" | "denied" | "done";
  readonly by?: string;
  readonly note?: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A call that waits for a person (`approval`, `outcome_unknown`), or for a client's result (`result`). */
export interface WaitingView {
  readonly id: string;
  /** `run_program` for a program itself; its input has `source` and `language`. */
  readonly tool: string;
  readonly why: "approval" | "outcome_unknown" | "result";
  /**
   * The whole JSON text, unless all waiting calls together have more than 4 MiB: then it is cut, and `viewCall` gives
   * the whole.
   */
  readonly input: TextHead;
  readonly inputDigest?: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** A limit and how much of it was used; `used` is missing where it is not known before the end. */
export interface LimitView {
  readonly name: string;
  readonly used?: number;
  readonly allowed: number;
}

/** Bytes and tokens at one place of the funnel. */
export interface FunnelPart {
  /** UTF-8 bytes. */
  readonly bytes: number;
  /** Of OpenAI's encoding o200k. */
  readonly tokens: number;
  /** The tokens are estimated from the beginning of the texts. */
  readonly estimated?: true;
}

/** Three amounts: returned by tools, handed to the programs, given to the model. */
export interface FunnelView {
  readonly fetched: FunnelPart;
  /** Of a program only. */
  readonly seen?: FunnelPart;
  /** Missing until there is a result. */
  readonly returned?: FunnelPart;
}

/** Printed text of one turn. */
export interface LogView {
  readonly turn: number;
  readonly stream: "stdout" | "stderr";
  readonly text: string;
  /** Lines that were left out before it. */
  readonly dropped?: number;
}

/** One turn of a program, by the event that began it. */
export interface TurnView {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly event: "start" | "answer" | "fire" | "stop";
  /** Id of the call that was answered. */
  readonly call?: string;
}

/** A fault of the program, in terms of its source. */
export interface FaultView {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly tool?: string;
  readonly line?: number;
  readonly column?: number;
}

/** The ending of an execution. */
export interface OutcomeView {
  /** Type of the ending, like `completed` or `answered`. */
  readonly type: string;
  readonly fault?: FaultView;
  /** Limit that stopped it. */
  readonly limit?: string;
}

interface ViewBase {
  readonly execution: ExecutionId;
  readonly kind: Header["kind"];
  readonly state: ViewState;
  readonly tenant: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds since 1970, of the last record that has a time. */
  readonly lastAt: number;
  /** Number of records read. */
  readonly records: number;
  /** Whether a driver holds it. */
  readonly driven: boolean;
  readonly parent?: { readonly execution: ExecutionId; readonly call: string };
  readonly versions: readonly NamedText[];
  readonly outcome?: OutcomeView;
  /** The text that the model or the caller gets. */
  readonly output?: TextHead;
  readonly waiting: readonly WaitingView[];
  readonly calls: readonly CallView[];
  /** Number of the latest calls that are not in `calls`, because there are very many. */
  readonly callsLeft?: number;
  readonly limits: readonly LimitView[];
  readonly funnel: FunnelView;
  /** Events beside calls: restarts, violations, connections, retries, drivers that took it up. */
  readonly events: readonly EventView[];
  readonly notes: readonly string[];
  readonly artifacts: readonly ArtifactView[];
}

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

export interface EventView {
  readonly type: string;
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface ArtifactView {
  readonly name: string;
  readonly bytes: number;
  readonly shape: string;
  readonly call: string;
}

/** The execution of one program. */
export interface ProgramView extends ViewBase {
  readonly kind: "program";
  readonly language: string;
  readonly sandbox: string;
  readonly source: string;
  /** Lines of the source, counted from 1, that name a tool. */
  readonly places: readonly ToolPlaces[];
  readonly turns: readonly TurnView[];
  /** Number of the latest turns that are not in `turns`. */
  readonly turnsLeft?: number;
  readonly logs: readonly LogView[];
}

/**
 * The lines of a program that name a tool. With more than one line, the journal does not tell which of them made a
 * call.
 */
export interface ToolPlaces {
  readonly tool: string;
  readonly lines: readonly number[];
}

/** One call of a host. */
export interface HostCallView extends ViewBase {
  readonly kind: "call";
}

/** A model's conversation. Its programs are executions of their own, with views of their own. */
export interface ConversationView extends ViewBase {
  readonly kind: "conversation";
  readonly model: string;
  readonly task: string;
  readonly turns: readonly ModelTurnView[];
  /** Messages after the last turn. */
  readonly said: readonly SaidView[];
  /** It continues only with a message of the user. */
  readonly rests: boolean;
}

export interface SaidView {
  readonly by: "user" | "host";
  readonly text: TextHead;
}

export interface ModelTurnView {
  readonly said: readonly SaidView[];
  /** The model's text. */
  readonly text: TextHead;
  readonly model: string;
  /** `called`, `answered`, `cut_off` … */
  readonly end: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Ids of its direct calls, which are among `calls`. */
  readonly calls: readonly string[];
  readonly programs: readonly ProgramCallView[];
}

/** A call of a model that runs a program. */
export interface ProgramCallView {
  readonly id: string;
  /** Its execution; missing where the program ran at the provider, or was never begun. */
  readonly execution?: ExecutionId;
  readonly source: TextHead;
  /** The result that the model got; missing until there is one. */
  readonly result?: TextHead;
  readonly isError?: boolean;
}

/** The view of an execution, made from its journal, for people. */
export type ExecutionView = ProgramView | ConversationView | HostCallView;

/** The whole texts of one call. */
export interface CallTexts {
  readonly id: string;
  readonly tool: string;
  readonly input: string;
  /** JSON text of the value, or the message of a refusal or failure; missing while none has been delivered. */
  readonly result?: string;
}
