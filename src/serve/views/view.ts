import type { FAULT } from "../../executions/outcome.ts";
import type { SchemaType } from "../../base/index.ts";
import type { CallLine } from "../../gate/call-line.ts";
import type { ArtifactRecord, DecisionRecord, Header } from "../../journal/record.ts";
import type { ModelTurn } from "../../models/model.ts";
import type { ListedExecution } from "../../runtime/executions/index.ts";

/*
 * Times are milliseconds since 1970, and bytes those of UTF-8.
 */

/** The beginning of a text. */
export interface TextHead {
  readonly text: string;
  /** UTF-8 bytes of the whole text. */
  readonly bytes: number;
  /** Missing if the text is whole; otherwise `viewCall` gives the whole. */
  readonly cut?: true;
}

/** The state of one call. `open`: it has no answer and waits for nothing from outside. */
export type CallState = "open" | "waiting" | "value" | "refused" | "failed" | "aborted";

export interface DecisionView extends Pick<DecisionRecord, "by" | "note" | "remember" | "remembered" | "at"> {
  readonly decision: "allowed" | "denied" | "done";
  /** The further calls that it allows, in words. */
  readonly grant?: string;
  /** Set if the grant of an earlier call allows it: that call, and what is left of its grant, in words. */
  readonly granted?: { readonly call: string; readonly left: string };
}

/** Its bytes and items are those that the program was given so far. */
export interface CallView extends Pick<
  CallLine,
  "tool" | "bytes" | "items" | "started" | "effect" | "attempts" | "from"
> {
  /** The id that `decide` takes: `3`, or `call_2/3` in a conversation. */
  readonly id: string;
  /** Where it runs, like `mcp crm`, `agent` or `client`; missing for a handler of the host. */
  readonly place?: string;
  readonly caller: string;
  readonly state: CallState;
  /** Code of a refusal or failure, or kind of a value like `array of 200`; why an open call does not go on by itself. */
  readonly detail?: string;
  readonly at: number;
  /** Milliseconds from the call to its answer; missing while there is none. */
  readonly ms?: number;
  /** The input that the handler is given. Absent if the call was refused before its input was read. */
  readonly input: TextHead;
  /** The input as the caller sent it, if the tool's schema has made another one of it. */
  readonly rawInput?: TextHead;
  /** JSON text of the value, or the message of a refusal or failure; missing while none has been delivered, and for items. */
  readonly result?: TextHead;
  readonly decision?: DecisionView;
  /** Why the policy held or refused it; missing if it did not. */
  readonly policy?: string;
  /** The handler's text for people (`display`), as JSON text. */
  readonly display?: string;
}

/** How far the stream of a call is. */
export type StreamView = Required<Pick<CallView, "items" | "bytes">>;

/** A call that waits for a person (`approval`, `outcome_unknown`), or for the result of a client or of its host (`result`). */
export interface WaitingView {
  readonly id: string;
  /** `run_program` for a program itself; its input has `source` and `language`. */
  readonly tool: string;
  readonly why: "approval" | "outcome_unknown" | "result";
  /** Why the policy holds it; missing if its tool asks for the decision. */
  readonly policy?: string;
  /** What it changes at most: the `effect` of its tool. Missing for a program itself. */
  readonly effect?: "read" | "idempotent" | "write";
  /**
   * The whole JSON text, unless all waiting calls together have more than 4 MiB: then it is cut, and `viewCall` gives
   * the whole.
   */
  readonly input: TextHead;
  /** As it was sent, if the tool's schema has made another input of it. */
  readonly rawInput?: TextHead;
  readonly inputDigest?: string;
  readonly since: number;
  /** Which time it waits for a decision, from 1. */
  readonly hold?: number;
}

/** A limit and how much of it was used; `used` is missing if it is not known before the end. */
export interface LimitView {
  readonly name: string;
  readonly used?: number;
  readonly allowed: number;
}

/** Bytes and tokens at one place of the funnel. */
export interface FunnelPart {
  readonly bytes: number;
  /** Of OpenAI's encoding o200k. */
  readonly tokens: number;
  /** The tokens are estimated from the beginning of the texts. */
  readonly estimated?: true;
}

/** Three amounts: returned by tools, handed to the programs, given to the model. */
export interface FunnelView {
  readonly fetched: FunnelPart;
  /** Set for a program only. */
  readonly seen?: FunnelPart;
  /** Missing until there is a result. */
  readonly returned?: FunnelPart;
}

/** Text that was printed in one turn. */
export interface LogView {
  readonly stream: "stdout" | "stderr";
  readonly text: string;
  /** Lines that were left out before it. */
  readonly dropped?: number;
}

/** A fault of the program, in terms of its source. */
export type FaultView = Pick<SchemaType<typeof FAULT>, "name" | "message" | "code" | "tool" | "line" | "column">;

/** The ending of an execution. */
export interface OutcomeView {
  /** Type of the ending, like `completed` or `answered`. */
  readonly type: string;
  readonly fault?: FaultView;
  /** Limit that stopped it. */
  readonly limit?: string;
}

export interface EventView {
  readonly type: string;
  readonly text: string;
  readonly at: number;
}

interface ViewBase extends Pick<Header, "execution" | "tenant" | "startedAt" | "parent"> {
  /** What it is called, in one line: of a program its head comment, or its tools, or its first line; the task; the tool. */
  readonly title: string;
  /** `waiting`: it continues only with a decision, a client's result or, in a conversation, the user. */
  readonly state: "running" | "waiting" | "ended";
  /** Milliseconds since 1970, of the last record that has a time. */
  readonly lastAt: number;
  /** Number of records that were read. */
  readonly records: number;
  /** Whether a driver holds the execution. */
  readonly driven: boolean;
  /** Milliseconds since 1970 until which its driver holds it at least; missing without a driver or a lease. */
  readonly drivenUntil?: number;
  /** What a worker must have to take it up, if those that looked at it did not have that. */
  readonly needs?: NonNullable<ListedExecution["needs"]>;
  readonly versions: readonly { readonly name: string; readonly text: string }[];
  readonly outcome?: OutcomeView;
  /** The text that the model or the caller gets. */
  readonly output?: TextHead;
  readonly waiting: readonly WaitingView[];
  readonly calls: readonly CallView[];
  /** Number of the latest calls that are not in `calls`, because there are very many. */
  readonly callsLeft?: number;
  readonly limits: readonly LimitView[];
  readonly funnel: FunnelView;
  /** Events beside calls: restarts, violations, connections, retries, drivers that took the execution up. */
  readonly events: readonly EventView[];
  readonly notes: readonly string[];
  readonly artifacts: readonly Pick<ArtifactRecord, "name" | "bytes" | "shape" | "call">[];
}

/**
 * The lines of a program that name a tool. With more than one line, the journal does not tell which of them made a
 * call.
 */
export interface ToolPlaces {
  readonly tool: string;
  readonly lines: readonly number[];
}

/** The execution of one program. */
export interface ProgramView extends ViewBase {
  readonly kind: "program";
  readonly language: string;
  readonly sandbox: string;
  /** The execution that it corrects, and whose answers it may be given again. */
  readonly corrects?: string;
  readonly source: string;
  /** Lines of the source, counted from 1, that name a tool. */
  readonly places: readonly ToolPlaces[];
  readonly logs: readonly LogView[];
}

/** One call of a host. */
export interface HostCallView extends ViewBase {
  readonly kind: "call";
}

export interface SaidView {
  readonly by: "user" | "host";
  readonly text: TextHead;
}

/** A call of a model that runs a program. */
export interface ProgramCallView {
  readonly id: string;
  /** Its execution; missing if the program ran at the provider, or was never begun. */
  readonly execution?: string;
  /** What it is called, in one line. */
  readonly title: string;
  readonly source: TextHead;
  /** Number of its calls that have ended, and UTF-8 bytes of their results. Missing if it ran at the provider. */
  readonly calls?: number;
  readonly fetched?: number;
  /** The result that the model got; missing until there is one. */
  readonly result?: TextHead;
  readonly isError?: boolean;
}

/** Pages and documents that a provider names as sources. */
type Sources = NonNullable<ModelTurn["citations"]>;

/** A call that a provider made itself, as data from outside. */
export interface HostedCallView {
  readonly id: string;
  readonly tool: string;
  readonly input: string;
  /** Missing if no turn tells of its end. */
  readonly isError?: boolean;
  readonly output?: string;
  readonly sources: Sources;
}

export interface ModelTurnView {
  readonly said: readonly SaidView[];
  /** The model's text. */
  readonly text: TextHead;
  readonly model: string;
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
  /** `called`, `answered`, `cut_off` … */
  readonly end: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Ids of its direct calls, which are among `calls`. */
  readonly calls: readonly string[];
  readonly programs: readonly ProgramCallView[];
  /** Calls that the provider made itself. */
  readonly hosted: readonly HostedCallView[];
  /** Sources that the text names, as the provider says. */
  readonly citations: Sources;
}

/** A model's conversation. Its programs are executions of their own, with views of their own. */
export interface ConversationView extends ViewBase {
  readonly kind: "conversation";
  readonly model: string;
  readonly task: string;
  readonly turns: readonly ModelTurnView[];
  /** Messages after the last turn. */
  readonly said: readonly SaidView[];
  /** Whether it continues only with a message of the user. */
  readonly rests: boolean;
}

/** The view of an execution, made from its journal, for people. */
export type ExecutionView = ProgramView | ConversationView | HostCallView;

/** What makes a view out of an earlier view of the same execution. */
export interface ViewPatch {
  /** Fields with their new values. */
  readonly set: Readonly<Record<string, unknown>>;
  /** Names of fields that are gone. */
  readonly unset: readonly string[];
  /** Lists by the names of their fields: their new lengths, and the items that changed or came, each with its index. */
  readonly lists: Readonly<
    Record<
      string,
      { readonly length: number; readonly items: readonly { readonly index: number; readonly item: unknown }[] }
    >
  >;
}

/** The whole texts of one call. */
export interface CallTexts {
  readonly id: string;
  readonly tool: string;
  readonly input: string;
  readonly rawInput?: string;
  /** JSON text of the value, or the message of a refusal or failure; missing while none has been delivered. */
  readonly result?: string;
}
