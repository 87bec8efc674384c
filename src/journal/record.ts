/** What is known of an execution before its first turn. Everything a replay needs besides the turns is here. */
export interface Header {
  readonly type: "header";
  /** Version of this format. */
  readonly format: 1;
  readonly execution: string;
  readonly tenant: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly language: string;
  readonly sandbox: string;
  /** Source that the guest was given, after preparing. */
  readonly program: string;
  /** Source as it was handed in. */
  readonly source: string;
  /** Names of the tools that the program could call. */
  readonly tools: readonly string[];
  readonly limits: Readonly<Record<string, number>>;
  /** The guest's determinism depends on these; a replay under others is tried, and may diverge. */
  readonly fingerprint: Readonly<Record<string, string>>;
}

/** What is known of a model's conversation before its first turn. Its calls are decided at the gate like a program's. */
export interface ConversationHeader {
  readonly type: "conversation";
  readonly format: 1;
  readonly execution: string;
  readonly tenant: string;
  readonly startedAt: number;
  /** Provider and model. */
  readonly model: string;
  readonly task: string;
  readonly tools: readonly string[];
  readonly limits: Readonly<Record<string, number>>;
}

/** One turn of a model, or what it was answered, without what only its provider can read. It is appended before anything of it is carried out. */
export interface MessageRecord {
  readonly type: "message";
  readonly from: "model" | "host";
  /** JSON text. */
  readonly message: string;
  readonly at: number;
}

/**
 * One turn of the guest: the event it was handed and the commands it handed back, as the text that crossed the
 * bridge. It is appended before any of those commands is carried out.
 */
export interface Turn {
  readonly type: "turn";
  readonly event: string;
  readonly commands: readonly string[];
}

/** What the gate decided about one call. A handler runs only after its `allowed` is appended. */
export interface CallRecord {
  readonly type: "call";
  readonly call: string;
  readonly tool: string;
  readonly caller: string;
  readonly decision: "allowed" | "refused" | "dropped";
  /** Of a refusal. */
  readonly code?: string;
  /** SHA-256 of the input's text, where the call got that far. */
  readonly inputDigest?: string;
  readonly at: number;
}

/** Something a guest sent that an honest one would not have. It reached no handler. */
export interface ViolationRecord {
  readonly type: "violation";
  readonly detail: string;
  readonly at: number;
}

/** The guest's process died and the turns so far are replayed in another. */
export interface RestartRecord {
  readonly type: "restart";
  readonly detail: string;
  readonly at: number;
}

/**
 * A connection of the program's to the world outside, or an attempt at one, once it has ended. What it brought stands in
 * no journal: an execution that has one of these cannot be replayed.
 */
export interface EgressRecord {
  readonly type: "egress";
  /** As the program named it; empty where it named none that can be one. */
  readonly host: string;
  readonly port: number;
  /** Where it went. Empty where it went nowhere. */
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
  /** JSON text. */
  readonly outcome: string;
  readonly at: number;
}

/** What a journal holds, in order. Records are plain JSON, and JSON in them stays text. */
export type JournalRecord =
  | Header
  | ConversationHeader
  | MessageRecord
  | Turn
  | CallRecord
  | ViolationRecord
  | RestartRecord
  | EgressRecord
  | OutcomeRecord;
