import { z } from "zod";
import { describe, PortcullisError } from "../errors.ts";
import { type Header, JOURNAL_FORMAT, type JournalRecord } from "./record.ts";

const text = z.string();
/** A store finds an execution by its id. Stores keep lone surrogates as another character. */
const key = text.min(1).refine((one) => one.isWellFormed(), "it has half a character (a lone surrogate)");
/** Milliseconds, a count or a size. */
const amount = z.number().nonnegative();
/** Milliseconds since 1970, up to the last that a `Date` can be. */
const at = z.int().nonnegative().max(8.64e15);
/** Milliseconds of a lease: a day at most, as in the options of a runtime. */
const leaseMs = z.int().nonnegative().max(86_400_000);

const tools = z.array(
  z.strictObject({ name: text, digest: text, effect: z.enum(["idempotent", "write"]).exactOptional() }),
);
const shown = z.array(z.strictObject({ name: text, digest: text })).exactOptional();

/** As long as a `traceparent` of any version that is read. */
const trace = text.max(256).exactOptional();

const redacted = z.int().positive().exactOptional();

const headerBase = {
  type: z.literal("header"),
  format: z.literal(JOURNAL_FORMAT),
  execution: key,
  tenant: key,
  startedAt: at,
  tools,
  limits: z.record(text, amount),
  versions: z.record(text, text),
  parent: z.strictObject({ execution: text, call: text }).exactOptional(),
  trace,
  redacted,
};

/** Schemas of records by type, and of headers by kind. The compiler checks that they match the types of `record.ts`. */
export const RECORD_SCHEMAS = {
  "header (program)": z.strictObject({
    ...headerBase,
    kind: z.literal("program"),
    language: text,
    sandbox: text,
    program: text,
    source: text,
    needsApproval: z.literal(true).exactOptional(),
    result: text.exactOptional(),
    resultSchema: text.exactOptional(),
  }),
  "header (conversation)": z.strictObject({
    ...headerBase,
    kind: z.literal("conversation"),
    model: text,
    task: text,
    programs: text,
    language: text,
    maxTurns: z.int().positive(),
    maxTokens: z.int().positive(),
    shown,
    approvePrograms: z.literal(true).exactOptional(),
    instructions: text.exactOptional(),
    settings: text.exactOptional(),
    continues: z.strictObject({ execution: text.exactOptional(), turns: z.int().nonnegative() }).exactOptional(),
  }),
  "header (call)": z.strictObject({
    ...headerBase,
    kind: z.literal("call"),
    tool: text,
    caller: text,
    input: text,
  }),
  claim: z.strictObject({ type: z.literal("claim"), driver: text.min(1), leaseMs, trace, at }),
  hand: z.strictObject({ type: z.literal("hand"), to: z.enum(["program", "host"]), at }),
  alive: z.strictObject({ type: z.literal("alive"), driver: text.min(1), at }),
  turn: z.strictObject({
    type: z.literal("turn"),
    redacted,
    event: text,
    commands: z.array(text),
    usage: z.record(text, amount).exactOptional(),
  }),
  message: z.strictObject({
    type: z.literal("message"),
    redacted,
    from: z.enum(["model", "host", "user"]),
    message: text,
    opaque: text.exactOptional(),
    at,
  }),
  rest: z.strictObject({ type: z.literal("rest"), redacted, ending: text.exactOptional(), at }),
  model: z.strictObject({ type: z.literal("model"), model: text, instructions: text.exactOptional(), at }),
  tools: z.strictObject({ type: z.literal("tools"), tools, shown, at }),
  compact: z.strictObject({ type: z.literal("compact"), redacted, history: text, at }),
  retry: z.strictObject({
    type: z.literal("retry"),
    redacted,
    call: text.exactOptional(),
    attempt: z.int().positive(),
    reason: text,
    delayMs: amount,
    at,
  }),
  call: z.strictObject({
    type: z.literal("call"),
    redacted,
    call: text,
    tool: text,
    caller: text,
    decision: z.enum(["allowed", "held", "client", "refused", "dropped"]),
    code: text.exactOptional(),
    inputDigest: text.exactOptional(),
    effect: z.enum(["read", "idempotent", "write"]).exactOptional(),
    at,
  }),
  decision: z.strictObject({
    type: z.literal("decision"),
    redacted,
    call: text,
    allow: z.boolean(),
    by: text.exactOptional(),
    note: text.exactOptional(),
    remember: z.literal("execution").exactOptional(),
    remembered: text.exactOptional(),
    done: text.exactOptional(),
    at,
  }),
  result: z
    .strictObject({
      type: z.literal("result"),
      redacted,
      call: text,
      value: text.exactOptional(),
      error: text.exactOptional(),
      at,
    })
    .refine(({ value, error }) => (value === undefined) !== (error === undefined), "expected either value or error"),
  answered: z.strictObject({
    type: z.literal("answered"),
    redacted,
    call: text,
    ok: z.boolean(),
    code: text.exactOptional(),
    ms: amount,
    bytes: amount,
    display: text.exactOptional(),
    shape: text.exactOptional(),
    shown,
    partsLeftOut: amount.exactOptional(),
    at,
  }),
  artifact: z.strictObject({
    type: z.literal("artifact"),
    redacted,
    name: text,
    value: text,
    bytes: amount,
    shape: text,
    first: text,
    call: text,
    at,
  }),
  violation: z.strictObject({ type: z.literal("violation"), redacted, detail: text, at }),
  restart: z.strictObject({ type: z.literal("restart"), redacted, detail: text, at }),
  egress: z.strictObject({
    type: z.literal("egress"),
    redacted,
    host: text,
    port: amount,
    address: text,
    bytesUp: amount,
    bytesDown: amount,
    ms: amount,
    outcome: z.enum(["done", "refused", "failed", "cut"]),
    detail: text,
    at,
  }),
  outcome: z.strictObject({
    type: z.literal("outcome"),
    redacted,
    outcome: text,
    notes: z.array(text).exactOptional(),
    usage: z.record(text, amount).exactOptional(),
    at,
  }),
};

/**
 * Validates one execution's records from an untrusted source such as a file: a header first, then records of known
 * types with exactly their fields. Throws `journal_invalid` with the index of the first invalid record, from 0, and
 * `journal_version` for another format.
 */
export function parseRecords(values: unknown): readonly [Header, ...JournalRecord[]] {
  if (!Array.isArray(values))
    throw invalid(`expected the records of one execution, the header first, got ${describe(values)}`);
  const parser = new RecordsParser();
  const [, ...others] = values.map((value) => parser.next(value));
  return [parser.end(), ...others];
}

/** Validates the records of one execution one after the other. Throws like `parseRecords`. */
export class RecordsParser {
  #header: Header | undefined;
  #hasOutcome = false;
  #count = 0;

  next(value: unknown): JournalRecord {
    const index = this.#count;
    const record = parseRecord(value, index);
    this.#count += 1;
    if (record.type !== "header") {
      if (this.#header === undefined) throw invalid(`record 0: expected a header, got a ${record.type}`);
      if (record.type === "outcome" && this.#hasOutcome) throw invalid(`record ${index}: an execution has one outcome`);
      this.#hasOutcome ||= record.type === "outcome";
      return record;
    }
    if (this.#header !== undefined) throw invalid(`record ${index}: an execution has one header`);
    this.#header = record;
    return record;
  }

  /** The header, after the last record. */
  end(): Header {
    if (this.#header === undefined)
      throw invalid("expected the records of one execution, the header first, got no record");
    return this.#header;
  }
}

/** Validates the record at this index of an execution. Throws like `parseRecords`. */
export function parseRecord(value: unknown, index: number): JournalRecord {
  const { type, kind, format } = typeof value === "object" && value !== null ? (value as Partial<Header>) : {};
  if (type === "header" && format !== JOURNAL_FORMAT)
    throw new PortcullisError(
      "journal_version",
      `The journal has format ${describe(format)}, and this version of portcullis reads format ${JOURNAL_FORMAT}. Read it with the version that wrote it.`,
    );
  const name = type === "header" ? `header (${String(kind)})` : String(type);
  if (!Object.hasOwn(RECORD_SCHEMAS, name))
    throw invalid(`record ${index}: there is no record of type ${describe(name)}`);
  const parsed = RECORD_SCHEMAS[name as keyof typeof RECORD_SCHEMAS].safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue && issue.path.length > 0 ? ` (${issue.path.map(String).join(".")})` : "";
  throw invalid(`record ${index}, ${name}${path}: ${issue?.message ?? "it is invalid"}`);
}

function invalid(why: string): PortcullisError {
  return new PortcullisError("journal_invalid", `These are not the records of an execution: ${why}.`);
}
