import type { SchemaType } from "../base/index.ts";
import type {
  CONTINUED_REF,
  HEADER_BASE,
  OWNER,
  PARENT_REF,
  RECORD_SCHEMAS,
  SHOWN_DEFINITION,
  TOOL_DIGEST,
} from "./record-schemas.ts";

/**
 * Version of the record format. A reader refuses records of any other version. `src/journal/README.md` has the table of
 * all records, and `record-schemas.ts` says what each field is, and how `redact` reads it.
 */
export const JOURNAL_FORMAT: HeaderBase["format"] = 1;

type Schemas = typeof RECORD_SCHEMAS;

/** One record of a journal. Records are plain JSON; JSON inside them stays text. Those of a call are `Extract<JournalRecord, { type: "call" }>`. */
export type JournalRecord = SchemaType<Schemas[keyof Schemas]>;

/** Common fields of the headers of programs, conversations and single calls. */
export type HeaderBase = SchemaType<typeof HEADER_BASE>;

/** The first record of an execution. */
export type Header = ProgramHeader | ConversationHeader | CallHeader;

/** The first record of a program's execution. A replay needs only this record and the turns. */
export type ProgramHeader = SchemaType<Schemas["header (program)"]>;

/** The first record of a model's conversation. The gate decides its calls in the same way as a program's. */
export type ConversationHeader = SchemaType<Schemas["header (conversation)"]>;

/** The first record of one call of a host (`runtime.call`), which is an execution of its own. */
export type CallHeader = SchemaType<Schemas["header (call)"]>;

/** The client of a server whose execution it is. */
export type Owner = SchemaType<typeof OWNER>;

/** A call of another execution. */
export type ParentRef = SchemaType<typeof PARENT_REF>;

/** A tool as it was defined when the execution began. */
export type ToolDigest = SchemaType<typeof TOOL_DIGEST>;

/** A definition of a tool, as a model or a program was shown it. */
export type ShownDefinition = SchemaType<typeof SHOWN_DEFINITION>;

/** A conversation whose turns another conversation has copied. */
export type ContinuedRef = SchemaType<typeof CONTINUED_REF>;

/** A driver takes over the execution. This record moves the head, so the previous driver can no longer append. */
export type ClaimRecord = SchemaType<Schemas["claim"]>;

/**
 * Who has the turn, the program or the host. Only a driver that has taken the execution up writes it, and only until the
 * program has ended a turn. Where hosts die again and again while the program has the turn, it may be what kills them.
 */
export type HandRecord = SchemaType<Schemas["hand"]>;

/**
 * A driver that has lost the execution says that it is alive. It was slow: the program, which had the turn, has not killed it.
 */
export type AliveRecord = SchemaType<Schemas["alive"]>;

/**
 * One turn of the guest: the event it was sent and the commands it returned, as the text that crossed the bridge. The
 * record is appended before any of the commands is carried out, together with what the gate decides about its calls at
 * once.
 */
export type TurnRecord = SchemaType<Schemas["turn"]>;

/**
 * One turn of a model, answers to its calls, or what the user, or the host in the user's place, said to the model. A
 * turn is appended before its calls are carried out, answers as they come, and what was said before the model is asked.
 */
export type MessageRecord = SchemaType<Schemas["message"]>;

/** A request to a provider, or the handler of a call, failed and is tried again. */
export type RetryRecord = SchemaType<Schemas["retry"]>;

/** The conversation waits for the user: it has come to an ending, or the host asked for one turn alone. */
export type RestRecord = SchemaType<Schemas["rest"]>;

/** Another model answers from here on. */
export type ModelRecord = SchemaType<Schemas["model"]>;

/** The conversation has other tools from here on. */
export type ToolsRecord = SchemaType<Schemas["tools"]>;

/** The history that the model is sent from here on, in place of all turns so far. */
export type CompactRecord = SchemaType<Schemas["compact"]>;

/** What the gate decided about one call. A handler runs only after the `allowed` of its call is appended. */
export type CallRecord = SchemaType<Schemas["call"]>;

/** A change of an earlier execution, copied here before the program that corrects it begins. */
export type EarlierRecord = SchemaType<Schemas["earlier"]>;

/** The answer to a held call, or to a call with an unknown outcome. The first decision of a call counts. */
export type DecisionRecord = SchemaType<Schemas["decision"]>;

/** The result of a call that a client answers instead of a handler. Exactly one of `value` and `error` is present. */
export type ResultRecord = SchemaType<Schemas["result"]>;

/**
 * A handler has ended. Its result is in the turn that delivers it, which a later append brings. A driver that finds no such turn
 * does not know the result: it calls the handler again, or asks a person about a `write`.
 */
export type AnsweredRecord = SchemaType<Schemas["answered"]>;

/**
 * A value is kept under a name, outside of what a model reads. It belongs to a conversation, or to a program outside of
 * conversations. Of several values under one name the last holds.
 */
export type ArtifactRecord = SchemaType<Schemas["artifact"]>;

/** The guest broke the protocol. No handler received any frame sent with the violation. */
export type ViolationRecord = SchemaType<Schemas["violation"]>;

/** The guest's process died. The turns so far are replayed in another one. */
export type RestartRecord = SchemaType<Schemas["restart"]>;

/**
 * A connection, or an attempted connection, of the program to a host outside the sandbox, after its end. Its contents
 * are not recorded, so an execution with such a record cannot be replayed.
 */
export type EgressRecord = SchemaType<Schemas["egress"]>;

/** The last record. */
export type OutcomeRecord = SchemaType<Schemas["outcome"]>;
