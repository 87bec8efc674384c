import type { ExecutionId } from "./execution-id.ts";

/**
 * Version of the record format. A reader refuses records of any other version. `src/journal/README.md` has the table of
 * all records.
 */
export const JOURNAL_FORMAT = 1;

/** What the headers of programs and of conversations share. */
interface HeaderBase {
  readonly type: "header";
  readonly format: typeof JOURNAL_FORMAT;
  readonly execution: ExecutionId;
  readonly tenant: string;
  /** Milliseconds since 1970, like every `at`. */
  readonly startedAt: number;
  /** The tools behind the gate. */
  readonly tools: readonly ToolDigest[];
  readonly limits: Readonly<Record<string, number>>;
  /** Versions that behaviour depends on: `portcullis`, `node`, `v8`, `protocol`; of a conversation the provider's `sdk` too. */
  readonly versions: Readonly<Record<string, string>>;
  /** The call that started this execution, where one did. */
  readonly parent?: ParentRef;
}

/** A call of another execution. */
export interface ParentRef {
  readonly execution: ExecutionId;
  readonly call: string;
}

/** A tool as it was defined when the execution began. */
export interface ToolDigest {
  readonly name: string;
  /** SHA-256 in hex of the name and of both JSON Schemas. Policies and handlers are not part of it. */
  readonly digest: string;
}

/** The first record of a program's execution. With the turns it holds everything that a replay needs. */
export interface ProgramHeader extends HeaderBase {
  readonly kind: "program";
  readonly language: string;
  readonly sandbox: string;
  /** Source that the guest was given, after preparation. */
  readonly program: string;
  /** Source as it was handed in. */
  readonly source: string;
}

/** The first record of a model's conversation. Its calls are decided at the gate like a program's. */
export interface ConversationHeader extends HeaderBase {
  readonly kind: "conversation";
  /** Provider and model, like `anthropic:claude-sonnet-4-5`. */
  readonly model: string;
  readonly task: string;
}

export type Header = ProgramHeader | ConversationHeader;

/** A driver takes the execution. Appending it is the fence: the driver before it can append no more. */
export interface ClaimRecord {
  readonly type: "claim";
  readonly driver: string;
  readonly at: number;
}

/**
 * One turn of the guest: the event it was handed and the commands it handed back, as the text that crossed the
 * bridge. It is appended before any of those commands is carried out.
 */
export interface TurnRecord {
  readonly type: "turn";
  readonly event: string;
  readonly commands: readonly string[];
}

/** One turn of a model, or the answers to its calls. It is appended before anything of it is carried out. */
export interface MessageRecord {
  readonly type: "message";
  readonly from: "model" | "host";
  /** JSON text, without what only the provider can read. */
  readonly message: string;
  /** The provider's sealed state after this turn: JSON text that goes back to the provider and is shown to no one else. */
  readonly opaque?: string;
  readonly at: number;
}

/** A request to a provider failed and is repeated. */
export interface RetryRecord {
  readonly type: "retry";
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  readonly reason: string;
  /** Milliseconds until the next attempt. */
  readonly delayMs: number;
  readonly at: number;
}

/** What the gate decided about one call. A handler runs only after the `allowed` of its call is appended. */
export interface CallRecord {
  readonly type: "call";
  readonly call: string;
  readonly tool: string;
  readonly caller: string;
  /** `held`: waits for an approval. `dropped`: the execution ended, or the caller gave up, before the call was decided. */
  readonly decision: "allowed" | "held" | "refused" | "dropped";
  /** Code of a refusal. */
  readonly code?: string;
  /** SHA-256 in hex of the input's JSON text, where the call got that far. */
  readonly inputDigest?: string;
  readonly at: number;
}

/** The answer to a held call, or to a call with an unknown outcome. The first decision of a call counts. */
export interface DecisionRecord {
  readonly type: "decision";
  readonly call: string;
  readonly allow: boolean;
  /** Who decided. */
  readonly by?: string;
  readonly note?: string;
  /** The call was already done, and this JSON text was its result. */
  readonly done?: string;
  readonly at: number;
}

/** The result of a call that a client answers instead of a handler. Either `value` or `error` is there. */
export interface ResultRecord {
  readonly type: "result";
  readonly call: string;
  /** JSON text. */
  readonly value?: string;
  readonly error?: string;
  readonly at: number;
}

/** A handler has ended. The turn that delivers its result follows, unless the execution ends before. */
export interface AnsweredRecord {
  readonly type: "answered";
  readonly call: string;
  readonly ok: boolean;
  /** Code of a failure. */
  readonly code?: string;
  /** Milliseconds from the call to its answer. */
  readonly ms: number;
  /** UTF-8 bytes of the result's JSON text; 0 of a failure. */
  readonly bytes: number;
  readonly at: number;
}

/** The guest broke the protocol. Nothing it sent with it reached a handler. */
export interface ViolationRecord {
  readonly type: "violation";
  readonly detail: string;
  readonly at: number;
}

/** The guest's process died. The turns so far are replayed in another one. */
export interface RestartRecord {
  readonly type: "restart";
  readonly detail: string;
  readonly at: number;
}

/**
 * A connection of the program to a host outside the sandbox, or an attempt at one, once it has ended. Its contents are
 * not recorded, so an execution with such a record cannot be replayed.
 */
export interface EgressRecord {
  readonly type: "egress";
  /** As the program named it; empty where it named no valid host. */
  readonly host: string;
  readonly port: number;
  /** The address that was connected to; empty where no connection was made. */
  readonly address: string;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly ms: number;
  readonly outcome: "done" | "refused" | "failed" | "cut";
  /** Why it was not `done`. */
  readonly detail: string;
  readonly at: number;
}

/** The last record. */
export interface OutcomeRecord {
  readonly type: "outcome";
  /** JSON text of the ending, without a completed program's value: that is in the last turn. */
  readonly outcome: string;
  readonly at: number;
}

/** What a journal holds, in order. Records are plain JSON; JSON inside them stays text. */
export type JournalRecord =
  | Header
  | ClaimRecord
  | TurnRecord
  | MessageRecord
  | RetryRecord
  | CallRecord
  | DecisionRecord
  | ResultRecord
  | AnsweredRecord
  | ViolationRecord
  | RestartRecord
  | EgressRecord
  | OutcomeRecord;
