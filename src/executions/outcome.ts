import { z } from "zod";
import { UNREPLAYABLE_CAUSES } from "../../bridge/frames.ts";
import { numberField } from "../gate/call-line.ts";
import type { CutTexts, SchemaType } from "../base/index.ts";
import { DEFAULT_LIMITS, type Limits } from "./limits.ts";
import { objectSchema } from "../base/values/object-schema.ts";

const text = z.string();

/** Any JSON. A recursive schema of it is more than generators of clients can read. */
const JSON_VALUE = z.unknown().meta({ description: "JSON" });

/** The input as the caller sent it, if the tool's schema has made another one of it. */
const RAW_INPUT = JSON_VALUE.optional();

export const FAULT = objectSchema({
  /** Class name of the thrown error. */
  name: text,
  message: text,
  /** Stable code of a fault that this package defines: a refusal's or failure's code, `syntax`, `calls_not_awaited` … */
  code: text.optional(),
  /** The tool whose call was refused or failed. */
  tool: text.optional(),
  /** A tool whose promise the program used as if it were its result, before it failed with this error. */
  unawaited: text.optional(),
  /** Position in the original source, both counted from 1. */
  line: numberField.optional(),
  column: numberField.optional(),
  /** That line of the source. */
  excerpt: text.optional(),
});

/** The error that ended a program, described in terms of its source. */
export type Fault = SchemaType<typeof FAULT>;

const APPROVAL = objectSchema({
  /** `"program"` for the program itself. */
  callId: text,
  /** `"run_program"` for the program itself; its input is `{ source, language }`. */
  tool: text,
  /** The input that the handler is given, as JSON has it. */
  input: JSON_VALUE,
  rawInput: RAW_INPUT,
  /** SHA-256 in hex of the JSON text of `input`; with `redact`, a digest with a key of the process that made the call. */
  inputDigest: text,
  /** Milliseconds since 1970. */
  since: numberField,
  /**
   * `approval`: the tool requires one. `outcome_unknown`: the call's driver died while its handler ran, so the call may
   * have taken effect.
   */
  why: z.enum(["approval", "outcome_unknown"]),
  /** Which time the call waits for a decision, from 1: again after its host has died. Its decision gives the same `hold`. */
  hold: numberField,
});

/** A call that waits for a decision. */
export type WaitingApproval = SchemaType<typeof APPROVAL>;

const WAITING_CALL = objectSchema({
  callId: text,
  tool: text,
  input: JSON_VALUE,
  rawInput: RAW_INPUT,
  /** Milliseconds since 1970. */
  since: numberField,
});

/** A call that waits for its result from a client. */
export type WaitingCall = SchemaType<typeof WAITING_CALL>;

export const WAITING = objectSchema({
  type: z.literal("waiting"),
  approvals: z.array(APPROVAL),
  calls: z.array(WAITING_CALL),
  /** Number of further calls that wait, which are listed once those before them are decided: their inputs are large, or many. */
  more: numberField.optional(),
});

/** What is listed of it in an event over HTTP. A journal from elsewhere may lack digests. */
const WAITING_HEAD = objectSchema({
  ...WAITING_CALL.omit({ input: true, rawInput: true }).shape,
  inputDigest: text.optional(),
});

/** The same without inputs, as events over HTTP have it. */
export const BARE_WAITING = objectSchema({
  ...WAITING.shape,
  approvals: z.array(objectSchema({ ...WAITING_HEAD.shape, ...APPROVAL.pick({ why: true, hold: true }).shape })),
  calls: z.array(WAITING_HEAD),
});

/** All that an execution waits for. */
export type Waiting = SchemaType<typeof WAITING>;

const STOPPED_BY = z.enum([
  ...(["waitMs", ...Object.keys(DEFAULT_LIMITS)] as (keyof Limits)[]).filter((name) => name !== "waitMs"),
  "heldBytes",
  "queue",
]);

/**
 * The limit that stopped a program: one of its own `Limits`, but for `waitMs`, which only ends calls; `heldBytes`, which all executions of a runtime share; or
 * `queue`, the number of programs that may wait for an engine.
 */
export type StoppedBy = z.output<typeof STOPPED_BY>;

const CRASH_CODE = z.enum(["engine_died", "bridge_broken", "replay_diverged"]);

/**
 * `replay_diverged`: the engine or the host died, and the replay in another engine differed from the journal. An honest
 * program can cause this if it catches a stack overflow or a failed allocation: V8 does not reproduce where they happen.
 */
export type CrashCode = z.output<typeof CRASH_CODE>;

/** An ending without a value, which the journal has in the last turn. */
const BARE_COMPLETED = objectSchema({ type: z.literal("completed") });

/** `value` is missing if the program returned nothing. A value of more than `outputBytes` is a `Stub` in a report, and only its beginning in an event. */
const COMPLETED = objectSchema({ ...BARE_COMPLETED.shape, value: JSON_VALUE.optional() });

/** The engine or the bridge broke. `detail` is for the operator: no client sees it. */
const CRASHED = objectSchema({ type: z.literal("crashed"), code: CRASH_CODE, detail: text });

/** `key_revoked`: the key of the server's client that had begun it holds no more. */
export const CANCELLED = objectSchema({
  type: z.literal("cancelled"),
  code: z.literal("key_revoked").optional(),
});

/** The endings that are alike in a journal, in a report and for clients. */
const PLAIN = [
  objectSchema({ type: z.literal("failed"), fault: FAULT }),
  /** A limit was reached. `seen` is a lower bound of the amount that exceeded it. */
  objectSchema({ type: z.literal("stopped"), limit: STOPPED_BY, allowed: numberField, seen: numberField }),
  CANCELLED,
] as const;

export const JOURNAL_ENDING = z.discriminatedUnion("type", [BARE_COMPLETED, CRASHED, ...PLAIN]);

export const OUTCOME = z.discriminatedUnion("type", [COMPLETED, CRASHED, ...PLAIN, WAITING]);

const CLIENT_CRASHED = CRASHED.omit({ detail: true });

/** As clients see it (`clientEnding`). */
export const CLIENT_OUTCOME = z.discriminatedUnion("type", [COMPLETED, CLIENT_CRASHED, ...PLAIN, WAITING]);

/** As clients see it in an event, without a value. */
export const BARE_CLIENT_OUTCOME = z.discriminatedUnion("type", [BARE_COMPLETED, CLIENT_CRASHED, ...PLAIN]);

/**
 * How an execution ended. Every execution has exactly one. `waiting`: it has no outcome yet, and continues only with decisions or
 * clients' results. `runtime.execution(id).resume` takes it up again.
 */
export type Outcome = SchemaType<typeof OUTCOME>;

/** A completed outcome with the fields the host needs to report the value. */
export interface CompletedOutcome extends Extract<Outcome, { type: "completed" }> {
  /** Full number of entries of each list and record that is cut in `value`. */
  readonly counts?: ReadonlyMap<object, number>;
  /** What is missing of texts that are cut in `value`. */
  readonly texts?: CutTexts;
  /** The whole value, as the JSON text that crossed the bridge. */
  readonly text: string | undefined;
  /** The value as the schema of the result has transformed it, if there is a schema. */
  readonly checked?: { readonly value: unknown };
}

/** An outcome as the host represents it. */
export type Ending = CompletedOutcome | Exclude<Outcome, { type: "completed" }>;

export const LOGS = objectSchema({
  /** The output, with a line that gives the number of omitted lines at each gap. */
  text,
  /** Lines printed, omitted lines included. */
  lines: numberField,
  /** UTF-8 bytes of `text`. */
  bytes: numberField,
  /** Lines omitted. */
  dropped: numberField,
});

/** The printed output of a program, within its bound. */
export type Logs = SchemaType<typeof LOGS>;

export const CONNECTIONS = objectSchema({ count: numberField, bytesUp: numberField, bytesDown: numberField });

/** Totals of a program's connections to hosts outside its sandbox, refused ones included. Bytes are of all connections together. */
export type ConnectionTotals = SchemaType<typeof CONNECTIONS>;

export const UNREPLAYABLE = z.enum([...UNREPLAYABLE_CAUSES, "redaction", "stream"]);

/** Why a program cannot be replayed: what it has used, that its journal was redacted, or that it read more of a stream than a journal in memory keeps. */
export type Unreplayable = z.output<typeof UNREPLAYABLE>;

export const NOT_EVICTED = z.enum([...UNREPLAYABLE.options, "memory", "replay"]);

/** Why a program kept its guest while it waited. `memory`: it uses much of what it may use. `replay`: its replays would take too long. */
export type NotEvictedCause = z.output<typeof NOT_EVICTED>;
