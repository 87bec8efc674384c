import { z } from "zod";
import { strictObjectSchema } from "../base/values/object-schema.ts";

/** A text that the runtime or the host has written. */
const own = z.string();
/** A name, or the id of a call or a driver. Readers use it as a key of maps; V8 hashes very long texts by their length alone. */
const name = own.max(16_000);
const digest = own.max(128);
/** Texts in which `redact` looks: words, JSON, and frames of the bridge, whose first line and rest are JSON. */
const words = z.string();
const namedWords = own.max(16_000);
const json = z.string();
const frame = z.string();
/** A store finds an execution by its id. Stores keep lone surrogates as another character. */
const key = own.min(1).refine((one) => one.isWellFormed(), "it has half a character (a lone surrogate)");
/** Milliseconds, a count or a size. */
const amount = z.number().nonnegative();
/** Milliseconds since 1970, up to the last that a `Date` can be. */
const at = z.int().nonnegative().max(8.64e15);

/** A tool as it was defined when the execution began. */
export const TOOL_DIGEST = strictObjectSchema({
  name,
  /** SHA-256 in hex of the name and both JSON Schemas. Policies and handlers are not included. */
  digest,
  /** What a call of it changes at most; missing for a tool that only reads. */
  effect: z.enum(["idempotent", "write"]).optional(),
  /** Where its calls run, like `mcp crm`; missing for a handler of the host. */
  place: own.optional(),
  /** Who may call it; missing if models and programs may. */
  callers: z.array(z.enum(["direct", "programmatic"])).optional(),
});
const tools = z.array(TOOL_DIGEST);

/** A definition of a tool, as a model or a program was shown it. */
export const SHOWN_DEFINITION = strictObjectSchema({
  name,
  /** SHA-256 in hex of the JSON text that was shown. */
  digest,
});
const shown = z.array(SHOWN_DEFINITION).optional();

/** A span as a W3C `traceparent`, as long as one of any version that is read; missing if telemetry did not record. */
const trace = own.max(256).optional();

/** Characters that the runtime's `redact` has taken out of the record; missing if nothing was taken out. */
const redacted = z.int().positive().optional();

/** Names of limits, versions and the like: some dozens. */
const MAX_NAMES = 64;
const byName = <Value extends z.ZodType>(value: Value) =>
  z.record(own, value).refine((names) => Object.keys(names).length <= MAX_NAMES, `it has more than ${MAX_NAMES} names`);

/** Amounts by their names in a report's `usage`: times and memory. */
const usage = byName(amount).optional();

/** A call of another execution. */
export const PARENT_REF = strictObjectSchema({ execution: own, call: name });

/** A conversation whose turns another conversation has copied. */
export const CONTINUED_REF = strictObjectSchema({
  /** Missing if the turns come from a transcript. */
  execution: own.optional(),
  /** Names of all tools that the turns may tell of. Missing if they come from a transcript: it does not say. */
  tools: z.array(name).optional(),
  /** Number of the turns that were copied. */
  turns: z.int().nonnegative(),
});

/** The client of a server whose execution it is. */
export const OWNER = strictObjectSchema({
  /** Id of its key. */
  key: own,
  /** `gateway`: its calls are answered there alone. Missing for the server's own paths. */
  surface: z.literal("gateway").optional(),
  /** Of a surface: how long an answer is kept that its client has asked to be stored, in milliseconds. */
  storedMs: amount.optional(),
  /** SHA-256 in hex of the settings that its client asked for. A request with the same id counts as the same one only with equal settings. */
  settings: own.optional(),
});

/** Common fields of the headers of programs, conversations and single calls. */
export const HEADER_BASE = strictObjectSchema({
  type: z.literal("header"),
  /** Version of the record format. */
  format: z.literal(1),
  execution: key,
  tenant: key,
  /** Missing for an execution that code of the host has begun. */
  owner: OWNER.optional(),
  startedAt: at,
  /** The tools behind the gate. */
  tools,
  limits: byName(amount),
  /** Policies that hold for its calls, whoever drives it: by name, or "function" for one that each process has itself. */
  policies: z.array(z.enum(["ask-writes", "ask-changes", "ask-all", "function"])).optional(),
  /** Versions that affect behaviour: `portcullis`, `node`, `v8`, `protocol`; for a conversation also the provider's `sdk`. What MCP servers call themselves, by the `place` of their tools. */
  versions: byName(own),
  /** The call that started this execution, if one did. */
  parent: PARENT_REF.optional(),
  /** Span in which it began. */
  trace,
  redacted,
});

/** The execution that a program corrects, whose answers it may be given again. */
const CORRECTED_REF = strictObjectSchema({
  execution: key,
  /** Results of calls that only read are given again up to this age, in milliseconds. */
  maxAgeMs: amount,
  /** Other programs of its conversation whose changes it may be given again, and must not repeat. */
  besides: z.array(key.max(16_000)).optional(),
});

/** A grant without terms would allow every call. */
const hasTerms = ({ sums, ...others }: { readonly sums?: Readonly<Record<string, number>> }): boolean =>
  Object.keys(sums ?? others).length > 0;

/** A record in the words of this package. `at` is when it was made. */
const noted = <Type extends string, Fields extends z.core.$ZodLooseShape>(type: Type, fields: Fields) =>
  strictObjectSchema({ type: z.literal(type), ...fields, at });
/** A record with words of others, which may be redacted. */
const textRecord = <Type extends string, Fields extends z.core.$ZodLooseShape>(type: Type, fields: Fields) =>
  noted(type, { redacted, ...fields });

/** Schemas of records by type, and of headers by kind. The types of `record.ts` are derived from them. */
export const RECORD_SCHEMAS = {
  "header (program)": strictObjectSchema({
    ...HEADER_BASE.shape,
    kind: z.literal("program"),
    language: own,
    sandbox: own,
    /** Prepared source, as sent to the guest. */
    program: words,
    /** Original source. */
    source: words,
    /** The program itself needs a decision before it starts. */
    needsApproval: z.literal(true).optional(),
    /** Missing for a program that corrects none. */
    corrects: CORRECTED_REF.optional(),
    /** SHA-256 in hex of the JSON Schema of what the program has to return. */
    result: own.optional(),
    /** JSON text of that schema, if it was a plain one: a later driver reads it from here. */
    resultSchema: json.optional(),
  }),
  "header (conversation)": strictObjectSchema({
    ...HEADER_BASE.shape,
    kind: z.literal("conversation"),
    /** Provider and model, like `anthropic:claude-sonnet-4-5`. */
    model: own,
    /** What the model was asked first; empty if messages of the user alone begin the conversation. */
    task: words,
    /** Where its programs run: `local`, `hosted` or `none`. */
    programs: own,
    /** Language of its local programs. */
    language: own,
    maxTurns: z.int().positive(),
    maxTokens: z.int().positive(),
    /** The definitions that the model was shown with the first request. */
    shown,
    /** Each of its programs needs a decision before it starts. */
    approvePrograms: z.literal(true).optional(),
    /** The system text; missing if it is the package's own. */
    instructions: words.optional(),
    /** What is asked of the model, and how the loop ends: JSON text. */
    settings: json.optional(),
    /** The conversation that this conversation continues: its first turns were copied, and do not count in its budget. */
    continues: CONTINUED_REF.optional(),
  }),
  "header (call)": strictObjectSchema({
    ...HEADER_BASE.shape,
    kind: z.literal("call"),
    tool: own,
    caller: own,
    /** JSON text; empty if it is longer than `inputBytes`, and the call was refused for it. */
    input: json,
  }),
  claim: noted("claim", {
    driver: name.min(1),
    /** How long the driver holds the execution before it renews its lease, in milliseconds: a day at most, as in the options of a runtime. */
    leaseMs: z.int().nonnegative().max(86_400_000),
    /** Span in which the driver drives it. */
    trace,
  }),
  hand: noted("hand", { to: z.enum(["program", "host"]) }),
  alive: noted("alive", { driver: name.min(1) }),
  turn: strictObjectSchema({
    type: z.literal("turn"),
    redacted,
    event: frame,
    commands: z.array(frame),
    /** What the program has used up to the turn's end, by all its drivers. */
    usage,
  }),
  message: textRecord("message", {
    from: z.enum(["model", "host", "user"]),
    /** JSON text, without the provider's `opaque` state. */
    message: json,
    /** The provider's opaque state after this turn: JSON text that is sent back to the provider and shown nowhere else. */
    opaque: json.optional(),
  }),
  rest: textRecord("rest", {
    /** JSON text of the ending; missing after one turn alone, whose calls are for the host to answer. */
    ending: json.optional(),
  }),
  model: noted("model", {
    /** Provider and model, like `anthropic:claude-sonnet-4-5`. */
    model: own,
    /** The new model's system text, as in the header. */
    instructions: words.optional(),
  }),
  tools: noted("tools", { tools, shown }),
  compact: textRecord("compact", {
    /** JSON text: which turns are kept, and what was said and answered in them. */
    history: json,
  }),
  retry: textRecord("retry", {
    /** Id of the call whose handler failed; missing for a request to a provider. */
    call: name.optional(),
    /** Number of the attempt that failed, from 1. */
    attempt: z.int().positive(),
    /** For a call the code of the failure. */
    reason: words,
    /** Milliseconds until the next attempt. */
    delayMs: amount,
  }),
  call: textRecord("call", {
    call: name,
    tool: words,
    caller: own,
    /** `held`: waits for an approval. `client`: waits for a client's result. `reused`: is answered as `earlier` was. `dropped`: the execution ended, or the caller cancelled the call, before it was decided. */
    decision: z.enum(["allowed", "held", "client", "reused", "refused", "dropped"]),
    /** Code of a refusal; `outcome_unknown` for a call that is held because its driver died while its handler ran. */
    code: own.optional(),
    /** Why the policy held or refused the call; missing if it did not. */
    policy: words.optional(),
    /** JSON text of what the tool's schema made of the input; missing if it is as the caller sent it, and after the first record that has it. */
    input: json.optional(),
    /** SHA-256 in hex of the JSON text of the input that the handler is given; missing if the call was refused before its input was read. */
    inputDigest: digest.optional(),
    /** What an `allowed` or `reused` call changes, if its tool's effect depends on the input. */
    effect: z.enum(["read", "idempotent", "write"]).optional(),
    /** The equal call of an earlier execution (`corrects`) that stands for it: its answer, or its unknown outcome. */
    earlier: PARENT_REF.optional(),
    /** When the answer was made that a `reused` call is given, in milliseconds since 1970. */
    answeredAt: amount.optional(),
  }),
  /** Its `at` is when the change had its answer. */
  earlier: textRecord("earlier", {
    /** The call that made the change. */
    earlier: PARENT_REF,
    tool: words,
    /** Of the tool, its definition and the input. */
    key: name,
    effect: z.enum(["read", "idempotent", "write"]),
    /** Whether its input was redacted. */
    isHidden: z.literal(true).optional(),
    /** JSON text of what it was answered with; missing if its outcome is unknown. */
    value: json.optional(),
    bytes: amount,
    shape: own,
    partsLeftOut: amount,
    named: z.array(digest).optional(),
    /** The decision that allowed it, if it has an answer and needed one. */
    approval: strictObjectSchema({
      call: name,
      allow: z.literal(true),
      by: own.optional(),
      note: own.optional(),
    }).optional(),
  }),
  decision: textRecord("decision", {
    call: name,
    allow: z.boolean(),
    /** Name of the approver. */
    by: words.optional(),
    note: words.optional(),
    /** Also decides later calls of the execution with the same tool and input. */
    remember: z.literal("execution").optional(),
    /** Further calls of the same tool that it allows. */
    grant: strictObjectSchema({
      calls: z.int().positive().optional(),
      /** By JSON pointers into the input: what the numbers there may be in all. */
      sums: byName(amount).optional(),
      /** Milliseconds since 1970. */
      untilMs: amount.optional(),
    })
      .refine(hasTerms, "expected at least one of calls, sums and untilMs")
      .optional(),
    /** The call is allowed by the grant of an earlier decision. No one was asked. */
    granted: strictObjectSchema({
      /** Id of the call with whose decision the grant was given. */
      call: name,
      /** What the call takes of each sum. */
      sums: byName(amount).optional(),
      /** What is left of the grant after it. */
      left: strictObjectSchema({
        calls: z.int().nonnegative().optional(),
        sums: byName(amount).optional(),
        untilMs: amount.optional(),
      }),
    }).optional(),
    /** Id of the call whose remembered decision is repeated. No one was asked. */
    remembered: name.optional(),
    /** JSON text of the result, if the call had already been done. */
    done: json.optional(),
  }).refine(({ allow, grant, granted }) => allow || !(grant ?? granted), "a refusal has no grant"),
  result: textRecord("result", {
    call: name,
    /** JSON text. */
    value: json.optional(),
    error: words.optional(),
    /** By it a server knows the client's words again. Keyed: what was redacted cannot be found by it. */
    mark: z.int().nonnegative().optional(),
  }).refine(({ value, error }) => (value === undefined) !== (error === undefined), "expected either value or error"),
  answered: textRecord("answered", {
    call: name,
    ok: z.boolean(),
    /** Code of a failure. */
    code: own.optional(),
    /** Its source refused it, so that it has changed nothing. */
    refused: z.literal(true).optional(),
    /** Milliseconds from the call to its answer. */
    ms: amount,
    /** UTF-8 bytes of the result's JSON text, 0 for a failure; of a stream, of the items that were given. */
    bytes: amount,
    /** Of a stream: number of the items that were given. */
    items: amount.optional(),
    /** What the handler has said to people: JSON text. */
    display: json.optional(),
    /** Kind of the result, like `array of 200`; missing for a failure. */
    shape: own.optional(),
    /** What a search showed: each tool that it found. */
    shown,
    /** Number of images, files and links of the result that the caller, a program, did not get. */
    partsLeftOut: amount.optional(),
    /** Digests of the addresses that the result named: SHA-256 of the source and the address, its first 22 characters in base64url. */
    named: z.array(digest).optional(),
  }),
  artifact: textRecord("artifact", {
    name: namedWords,
    /** JSON text. */
    value: json,
    /** UTF-8 bytes of the value. */
    bytes: amount,
    /** TypeScript type of the value, inferred from its first rows. */
    shape: words,
    /** The beginning of the JSON of the value, or of its first row. */
    first: words,
    /**
     * The call that kept it: `3` of a program, `call_2/3` of a program of a conversation, `call_2` for the large result of
     * a model's call, `call_2/value` or `value` for the large value of a program.
     */
    call: name,
  }),
  violation: textRecord("violation", { detail: words }),
  restart: textRecord("restart", { detail: words }),
  egress: textRecord("egress", {
    /** Host name as given by the program; empty if it was invalid. */
    host: words,
    port: amount,
    /** Address of the connection; empty if none was made. */
    address: own,
    bytesUp: amount,
    bytesDown: amount,
    ms: amount,
    outcome: z.enum(["done", "refused", "failed", "cut"]),
    /** The reason if the outcome is not `done`. */
    detail: words,
  }),
  outcome: textRecord("outcome", {
    /** JSON text of the ending, with the value of a completed call. A completed program's value is in the last turn instead. */
    outcome: json,
    /** The runtime's notes on the ending, for the reader of the result. */
    notes: z.array(words).optional(),
    usage,
  }),
};

export type TextForm = "words" | "json" | "frame";

const READINGS = new Map<z.ZodType, TextForm>([
  [words, "words"],
  [namedWords, "words"],
  [json, "json"],
  [frame, "frame"],
]);

function readingOf(schema: z.ZodType): TextForm | undefined {
  if (schema instanceof z.ZodOptional) return readingOf(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodArray ? readingOf(schema.element as z.ZodType) : READINGS.get(schema);
}

/** The fields of a record in which `redact` looks, and how it is read what they hold. */
export const REDACTED_FIELDS = Object.fromEntries(
  Object.entries(RECORD_SCHEMAS).map(([record, { shape }]) => {
    const fields = Object.entries<z.ZodType>(shape).map(([field, schema]) => [field, readingOf(schema)] as const);
    return [record, fields.filter((one): one is [string, TextForm] => one[1] !== undefined)];
  }),
) as unknown as Readonly<Record<keyof typeof RECORD_SCHEMAS, readonly (readonly [string, TextForm])[]>>;
