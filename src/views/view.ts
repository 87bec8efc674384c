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

/** Where an execution is. `waiting`: only a decision, a client's result or, in a conversation, the user brings it further. */
export type ViewState = "running" | "waiting" | "ended";

/** How one call stands. `open`: it has no answer and waits for nothing from outside. */
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
  /** The turn whose beginning brought its answer; missing where none has. */
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
  /** What the handler has said to people: JSON text. */
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
  /** The whole JSON text, unless all that wait have more than 4 MiB together: then it is cut, and `viewCall` gives the whole. */
  readonly input: TextHead;
  readonly inputDigest?: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** A limit and what was used of it; `used` is missing where it is not known before the end. */
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

/** What tools returned, what the programs were handed, what the model gets. */
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

/** One turn of a program: what it was told. */
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

/** How it ended. */
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
  /** What the model or the caller gets. */
  readonly output?: TextHead;
  readonly waiting: readonly WaitingView[];
  readonly calls: readonly CallView[];
  /** Number of calls that are not among `calls`, because there are very many; the latest of all. */
  readonly callsLeft?: number;
  readonly limits: readonly LimitView[];
  readonly funnel: FunnelView;
  /** What happened beside calls: restarts, violations, connections, retries, who took it up. */
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
  /** Lines of the source, counted from 1, that write a tool's name. */
  readonly places: readonly ToolPlaces[];
  readonly turns: readonly TurnView[];
  /** Number of turns that are not among `turns`, the latest of all. */
  readonly turnsLeft?: number;
  readonly logs: readonly LogView[];
}

/** Where a program writes a tool. With more than one line, the journal does not tell which of them made a call. */
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
  /** What was said after the last turn. */
  readonly said: readonly SaidView[];
  /** It goes no further before the user says more. */
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
  /** What the model got; missing while there is nothing. */
  readonly result?: TextHead;
  readonly isError?: boolean;
}

/** An execution as its journal tells of it, for people who look at it. */
export type ExecutionView = ProgramView | ConversationView | HostCallView;

/** The whole texts of one call. */
export interface CallTexts {
  readonly id: string;
  readonly tool: string;
  readonly input: string;
  /** JSON text of the value, or the message of a refusal or failure; missing while none has been delivered. */
  readonly result?: string;
}
