import type { ExecutionId } from "./execution-id.ts";

/**
 * Version of the record format. A reader refuses records of any other version. `src/journal/README.md` has the table of
 * all records.
 */
export const JOURNAL_FORMAT = 1;

/** A record whose texts may hold what must not be kept. */
export interface Redactable {
  /** Characters that the runtime's `redact` has taken out of it; missing if nothing was taken out. */
  readonly redacted?: number;
}

/** Common fields of the headers of programs, conversations and single calls. */
export interface HeaderBase extends Redactable {
  readonly type: "header";
  readonly format: typeof JOURNAL_FORMAT;
  readonly execution: ExecutionId;
  readonly tenant: string;
  /** Milliseconds since 1970, like every `at`. */
  readonly startedAt: number;
  /** The tools behind the gate. */
  readonly tools: readonly ToolDigest[];
  readonly limits: Readonly<Record<string, number>>;
  /** Versions that affect behaviour: `portcullis`, `node`, `v8`, `protocol`; for a conversation also the provider's `sdk`. */
  readonly versions: Readonly<Record<string, string>>;
  /** The call that started this execution, if one did. */
  readonly parent?: ParentRef;
  /** Span in which it began, as a W3C `traceparent`; missing if telemetry did not record. */
  readonly trace?: string;
}

/** A call of another execution. */
export interface ParentRef {
  readonly execution: ExecutionId;
  readonly call: string;
}

/** A tool as it was defined when the execution began. */
export interface ToolDigest {
  readonly name: string;
  /** SHA-256 in hex of the name and both JSON Schemas. Policies and handlers are not included. */
  readonly digest: string;
  /** What a call of it changes at most; missing for a tool that only reads. */
  readonly effect?: "idempotent" | "write";
}

/** A definition of a tool, as a model or a program was shown it. */
export interface ShownDefinition {
  readonly name: string;
  /** SHA-256 in hex of the JSON text that was shown. */
  readonly digest: string;
}

/** The first record of a program's execution. A replay needs only this record and the turns. */
export interface ProgramHeader extends HeaderBase {
  readonly kind: "program";
  readonly language: string;
  readonly sandbox: string;
  /** Prepared source, as sent to the guest. */
  readonly program: string;
  /** Original source. */
  readonly source: string;
  /** The program itself needs a decision before it starts. */
  readonly needsApproval?: true;
  /** SHA-256 in hex of the JSON Schema of what the program has to return. */
  readonly result?: string;
  /** JSON text of that schema, if it was a plain one: a later driver reads it from here. */
  readonly resultSchema?: string;
}

/** The first record of a model's conversation. The gate decides its calls in the same way as a program's. */
export interface ConversationHeader extends HeaderBase {
  readonly kind: "conversation";
  /** Provider and model, like `anthropic:claude-sonnet-4-5`. */
  readonly model: string;
  /** What the model was asked first; empty if messages of the user alone begin the conversation. */
  readonly task: string;
  /** Where its programs run: `local`, `hosted` or `none`. */
  readonly programs: string;
  /** Language of its local programs. */
  readonly language: string;
  readonly maxTurns: number;
  readonly maxTokens: number;
  /** The definitions that the model was shown with the first request. */
  readonly shown?: readonly ShownDefinition[];
  /** Each of its programs needs a decision before it starts. */
  readonly approvePrograms?: true;
  /** The system text; missing if it is the package's own. */
  readonly instructions?: string;
  /** What is asked of the model, and how the loop ends: JSON text. */
  readonly settings?: string;
  /** The conversation that this conversation continues: its first turns were copied, and do not count in its budget. */
  readonly continues?: ContinuedRef;
}

/** A conversation whose turns another conversation has copied. */
export interface ContinuedRef {
  /** Missing if the turns come from a transcript. */
  readonly execution?: ExecutionId;
  /** Number of the turns that were copied. */
  readonly turns: number;
}

/** The first record of one call of a host (`runtime.call`), which is an execution of its own. */
export interface CallHeader extends HeaderBase {
  readonly kind: "call";
  readonly tool: string;
  readonly caller: string;
  /** JSON text; empty if it is longer than `inputBytes`, and the call was refused for it. */
  readonly input: string;
}

export type Header = ProgramHeader | ConversationHeader | CallHeader;

/** A driver takes over the execution. This record moves the head, so the previous driver can no longer append. */
export interface ClaimRecord {
  readonly type: "claim";
  readonly driver: string;
  /** How long the driver holds the execution before it renews its lease, in milliseconds. */
  readonly leaseMs: number;
  /** Span in which the driver drives it, as a `traceparent`. */
  readonly trace?: string;
  readonly at: number;
}

/**
 * Who has the turn, the program or the host. Only a driver that has taken the execution up writes it, and only until the
 * program has ended a turn: hosts that die again and again while the program has the turn may die of it.
 */
export interface HandRecord {
  readonly type: "hand";
  readonly to: "program" | "host";
  readonly at: number;
}

/**
 * A driver that lost the execution while the program had the turn, and is alive: the driver was slow, and the program
 * did not end it. A driver other than the current one appends this record.
 */
export interface AliveRecord {
  readonly type: "alive";
  readonly driver: string;
  readonly at: number;
}

/**
 * One turn of the guest: the event it was sent and the commands it returned, as the text that crossed the bridge. The
 * record is appended before any of the commands is carried out, together with what the gate decides about its calls at
 * once.
 */
export interface TurnRecord extends Redactable {
  readonly type: "turn";
  readonly event: string;
  readonly commands: readonly string[];
  /** What the program has used up to the turn's end, by all its drivers: times and memory, by their names in a report's `usage`. */
  readonly usage?: Readonly<Record<string, number>>;
}

/**
 * One turn of a model, answers to its calls, or what the user, or the host in the user's place, said to the model. A
 * turn is appended before its calls are carried out, answers as they come, and what was said before the model is asked.
 */
export interface MessageRecord extends Redactable {
  readonly type: "message";
  readonly from: "model" | "host" | "user";
  /** JSON text, without the provider's `opaque` state. */
  readonly message: string;
  /** The provider's opaque state after this turn: JSON text that is sent back to the provider and shown nowhere else. */
  readonly opaque?: string;
  readonly at: number;
}

/** A request to a provider, or the handler of a call, failed and is tried again. */
export interface RetryRecord extends Redactable {
  readonly type: "retry";
  /** Id of the call whose handler failed; missing for a request to a provider. */
  readonly call?: string;
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** For a call the code of the failure. */
  readonly reason: string;
  /** Milliseconds until the next attempt. */
  readonly delayMs: number;
  readonly at: number;
}

/** The conversation waits for the user: it has come to an ending, or the host asked for one turn alone. */
export interface RestRecord extends Redactable {
  readonly type: "rest";
  /** JSON text of the ending; missing after one turn alone, whose calls are for the host to answer. */
  readonly ending?: string;
  readonly at: number;
}

/** Another model answers from here on. */
export interface ModelRecord {
  readonly type: "model";
  /** Provider and model, like `anthropic:claude-sonnet-4-5`. */
  readonly model: string;
  /** The new model's system text, as in the header. */
  readonly instructions?: string;
  readonly at: number;
}

/** The conversation has other tools from here on. */
export interface ToolsRecord {
  readonly type: "tools";
  readonly tools: readonly ToolDigest[];
  readonly shown?: readonly ShownDefinition[];
  readonly at: number;
}

/** The history that the model is sent from here on, in place of all turns so far. */
export interface CompactRecord extends Redactable {
  readonly type: "compact";
  /** JSON text: which turns are kept, and what was said and answered in them. */
  readonly history: string;
  readonly at: number;
}

/** What the gate decided about one call. A handler runs only after the `allowed` of its call is appended. */
export interface CallRecord extends Redactable {
  readonly type: "call";
  readonly call: string;
  readonly tool: string;
  readonly caller: string;
  /** `held`: waits for an approval. `client`: waits for a client's result. `dropped`: the execution ended, or the caller cancelled the call, before it was decided. */
  readonly decision: "allowed" | "held" | "client" | "refused" | "dropped";
  /** Code of a refusal; `outcome_unknown` for a call that is held because its driver died while its handler ran. */
  readonly code?: string;
  /** SHA-256 in hex of the input's JSON text; missing if the call was refused before its input was read. */
  readonly inputDigest?: string;
  /** What an `allowed` call changes, if its tool's effect depends on the input. */
  readonly effect?: "read" | "idempotent" | "write";
  readonly at: number;
}

/** The answer to a held call, or to a call with an unknown outcome. The first decision of a call counts. */
export interface DecisionRecord extends Redactable {
  readonly type: "decision";
  readonly call: string;
  readonly allow: boolean;
  /** Name of the approver. */
  readonly by?: string;
  readonly note?: string;
  /** Also decides later calls of the execution with the same tool and input. */
  readonly remember?: "execution";
  /** Id of the call whose remembered decision is repeated. No one was asked. */
  readonly remembered?: string;
  /** JSON text of the result, if the call had already been done. */
  readonly done?: string;
  readonly at: number;
}

/** The result of a call that a client answers instead of a handler. Exactly one of `value` and `error` is present. */
export interface ResultRecord extends Redactable {
  readonly type: "result";
  readonly call: string;
  /** JSON text. */
  readonly value?: string;
  readonly error?: string;
  readonly at: number;
}

/** A handler has ended. The turn that delivers its result follows, unless the execution ends first. */
export interface AnsweredRecord extends Redactable {
  readonly type: "answered";
  readonly call: string;
  readonly ok: boolean;
  /** Code of a failure. */
  readonly code?: string;
  /** Milliseconds from the call to its answer. */
  readonly ms: number;
  /** UTF-8 bytes of the result's JSON text; 0 for a failure. */
  readonly bytes: number;
  /** Kind of the result, like `array of 200`; missing for a failure. */
  readonly shape?: string;
  /** What the handler has said to people: JSON text. */
  readonly display?: string;
  /** What a search showed: each tool that it found. */
  readonly shown?: readonly ShownDefinition[];
  /** Number of images, files and links of the result that the caller, a program, did not get. */
  readonly partsLeftOut?: number;
  readonly at: number;
}

/**
 * A value is kept under a name, outside of what a model reads. It belongs to a conversation, or to a program outside of
 * conversations. Of several values under one name the last holds.
 */
export interface ArtifactRecord extends Redactable {
  readonly type: "artifact";
  readonly name: string;
  /** JSON text. */
  readonly value: string;
  /** UTF-8 bytes of the value. */
  readonly bytes: number;
  /** TypeScript type of the value, inferred from its first rows. */
  readonly shape: string;
  /** The beginning of the JSON of the value, or of its first row. */
  readonly first: string;
  /**
   * The call that kept it: `3` of a program, `call_2/3` of a program of a conversation, `call_2` for the large result of
   * a model's call, `call_2/value` or `value` for the large value of a program.
   */
  readonly call: string;
  readonly at: number;
}

/** The guest broke the protocol. No handler received any frame sent with the violation. */
export interface ViolationRecord extends Redactable {
  readonly type: "violation";
  readonly detail: string;
  readonly at: number;
}

/** The guest's process died. The turns so far are replayed in another one. */
export interface RestartRecord extends Redactable {
  readonly type: "restart";
  readonly detail: string;
  readonly at: number;
}

/**
 * A connection, or an attempted connection, of the program to a host outside the sandbox, after its end. Its contents
 * are not recorded, so an execution with such a record cannot be replayed.
 */
export interface EgressRecord extends Redactable {
  readonly type: "egress";
  /** Host name as given by the program; empty if it was invalid. */
  readonly host: string;
  readonly port: number;
  /** Address of the connection; empty if none was made. */
  readonly address: string;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly ms: number;
  readonly outcome: "done" | "refused" | "failed" | "cut";
  /** The reason if the outcome is not `done`. */
  readonly detail: string;
  readonly at: number;
}

/** The last record. */
export interface OutcomeRecord extends Redactable {
  readonly type: "outcome";
  /** JSON text of the ending, with the value of a completed call. A completed program's value is in the last turn instead. */
  readonly outcome: string;
  /** The runtime's notes on the ending, for the reader of the result. */
  readonly notes?: readonly string[];
  /** Times and memory of a program, by their names in a report's `usage`. */
  readonly usage?: Readonly<Record<string, number>>;
  readonly at: number;
}

/** One record of a journal. Records are plain JSON; JSON inside them stays text. */
export type JournalRecord =
  | Header
  | ClaimRecord
  | HandRecord
  | AliveRecord
  | TurnRecord
  | MessageRecord
  | RestRecord
  | ModelRecord
  | ToolsRecord
  | CompactRecord
  | RetryRecord
  | CallRecord
  | DecisionRecord
  | ResultRecord
  | AnsweredRecord
  | ArtifactRecord
  | ViolationRecord
  | RestartRecord
  | EgressRecord
  | OutcomeRecord;
