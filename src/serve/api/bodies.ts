import { z } from "zod";
import { RequestProblem } from "../http/problems.ts";
import { PREFIX_LENGTH, withoutPrefixes } from "../tenant-ids.ts";
import { USER_MESSAGE } from "../../models/turn-shape.ts";
import { LIMIT_RULES } from "../../executions/limits.ts";
import { cleanText, cutMiddle, isFields, nearest } from "../../base/index.ts";
import { FOUND_DEFAULT, FOUND_MAX, QUERY_LENGTH } from "../../tools/search/index.ts";

/** Characters of an id that a client chooses, of a name, and of a text to search for. */
export const CLIENT_ID_LENGTH = 256 - PREFIX_LENGTH;
const NAME_LENGTH = 256;
const TEXT_LENGTH = 200;
/** Calls that one request decides or answers, and fields or entries of an object or a list around the values of a body. */
const MOST_CALLS = 1000;
/** Characters of the schema of a result, as JSON. */
export const SCHEMA_LENGTH = 64 * 1024;
/** Depth of a body's own objects, below which are the values that it carries. */
const FRAME_DEPTH = 3;
/** Bytes of the sentence about a body that is refused. */
export const FAULT_BYTES = 1024;
/** Messages that one request says. */
const MOST_MESSAGES = 100;
/** Tools on one page of their list. */
const TOOLS_PAGE = 200;
const MOST_TOOLS = 1000;
/** Executions on one page of the list. */
const PAGE = 50;
const MOST_OF_PAGE = 200;

const text = z.string();
/** A whole number of something, at least one. */
const positive = z.int().min(1);

const execution = text
  .min(1)
  .max(CLIENT_ID_LENGTH)
  .regex(/^\P{C}*$/u, "expected an id without control characters")
  .regex(/^(?!\.{1,2}$)/, "expected an id other than . and .., which no path can have")
  .refine((id) => withoutPrefixes(id) === id, "expected an id that is not like one of the server")
  .describe("id of the execution");

const language = z.enum(["javascript", "python"]);

/** Of a page, from a query. */
const number = z.coerce.number().int();

const limits = z
  .strictObject(
    Object.fromEntries(
      Object.entries(LIMIT_RULES).map(([name, { min, max }]) => [name, z.int().min(min).max(max).optional()]),
    ),
  )
  .describe("changes to the limits, which may only narrow");

/** The journal keeps it with each execution. */
const result = z
  .looseObject({})
  .describe("JSON Schema (draft 2020-12) that the value has to fit; else it ends as `failed` with `result_invalid`");

const wait = z.boolean().default(true).describe("false: answer 202 as soon as the journal has it");

export const EXECUTE_BODY = z.strictObject({
  program: text.describe("source of the program"),
  language: language.optional(),
  limits: limits.optional(),
  result: result.optional(),
  id: execution.optional().describe("id of your choice: the same again never runs a second one"),
  corrects: execution
    .optional()
    .describe(
      "id of an ended execution that this program corrects: its equal calls are answered as before, and not made again",
    ),
  maxAgeMs: z
    .int()
    .min(0)
    .optional()
    .describe(
      "age up to which results of calls that only read are given again; 300,000 by default; only with `corrects`",
    ),
  wait,
});

/** What the user says: text, text with images, files and links, or several such messages. */
const message = z
  .union([USER_MESSAGE, z.array(USER_MESSAGE).max(MOST_MESSAGES)], {
    error: 'expected text, a list of parts like { type: "text", text }, or a list of such messages',
  })
  .describe("what the user says: text, a list of parts, or a list of messages");

export const BEGIN_BODY = z.strictObject({
  message,
  model: text.max(NAME_LENGTH).optional().describe("one of `GET /v1/models`; the first by default"),
  id: execution.optional().describe("id of your choice: the same again never begins a second one"),
  instructions: text.optional().describe("what the model reads before it begins"),
  tools: z
    .array(text.max(NAME_LENGTH))
    .max(MOST_CALLS)
    .optional()
    .describe("names of tools, like crm.find or crm.*; all of the key's by default"),
  language: language.optional().describe("language of its programs"),
  limits: limits.optional(),
  maxTurns: positive.optional().describe("turns of the model after each message"),
  maxTokens: positive.optional().describe("tokens of the whole conversation"),
  maxOutputTokens: positive.optional().describe("output tokens of one turn"),
  reasoning: z.strictObject({ effort: z.enum(["low", "medium", "high"]) }).optional(),
  answer: result.optional().describe("JSON Schema (draft 2020-12) that the model's answer, as JSON, has to fit"),
  wait,
});

export const SAY_BODY = z.strictObject({
  message: message.optional().describe("missing: it continues from where it is"),
  expect: z
    .int()
    .min(0)
    .optional()
    .describe("`said` of the conversation as you know it: the same message with the same number is never said twice"),
  wait,
});

const grant = z
  .strictObject({
    calls: z.int().positive().max(1_000_000),
    sums: z
      .record(text.max(256), z.number().min(0))
      .describe('by JSON pointers into the input, what the numbers there may be in all: { "/amount": 500 }'),
    untilMs: z.number().positive().describe("milliseconds since 1970"),
  })
  .partial()
  .describe("further calls of the same tool in this execution that need no decision");

const decision = z
  .strictObject({
    allow: z.boolean(),
    hold: positive.describe("`hold` of the waiting call; 1 by default"),
    done: z.strictObject({ value: z.unknown() }),
    by: text.max(NAME_LENGTH),
    note: text,
    remember: z.literal("execution"),
    grant,
  })
  .partial();

export const DECISIONS_BODY = z.strictObject({ decisions: byCall(decision) });

const clientResult = z.union([z.strictObject({ value: z.unknown() }), z.strictObject({ error: text.min(1) })], {
  error: "expected either { value } or { error }, which is a sentence",
});

export const RESULTS_BODY = z.strictObject({ results: byCall(clientResult) });

export const NO_BODY = z.strictObject({});

/** Seconds that a request for the state of an execution may wait. */
const MOST_WAIT = 300;

export const LIST_QUERY = z.strictObject({
  state: z.enum(["running", "waiting", "ended", "unread", "unreadable"]).optional(),
  tool: text.min(1).max(NAME_LENGTH).optional().describe("name of a tool, or a part of one"),
  text: text.min(1).max(TEXT_LENGTH).optional().describe("part of the id, the program, the task or the first message"),
  cursor: text
    .regex(/^\d{1,15}$/, "expected the cursor of the page before")
    .transform(Number)
    .optional()
    .describe("that of the page before"),
  limit: number.min(1).max(MOST_OF_PAGE).default(PAGE),
});

export const TOOLS_QUERY = z.strictObject({
  cursor: text.max(NAME_LENGTH).optional().describe("that of the page before"),
  limit: number.min(1).max(MOST_TOOLS).default(TOOLS_PAGE),
});

export const SEARCH_QUERY = z.strictObject({
  q: text.min(1).max(QUERY_LENGTH).regex(/\S/, "expected a word").describe("what the tool should do, in a few words"),
  limit: number.min(1).max(FOUND_MAX).default(FOUND_DEFAULT),
  caller: z.enum(["direct", "programmatic"]).default("programmatic").describe("who would call the tools"),
  language: language.default("javascript").describe("language of the stubs"),
});

export const STATUS_QUERY = z.strictObject({
  wait: number
    .min(0)
    .max(MOST_WAIT)
    .default(0)
    .describe("seconds that the answer may wait until the execution has ended, or waits for a person or a client"),
});

/** As Anthropic's clients ask for pages. */
export const MODELS_QUERY = z.strictObject({
  limit: number.min(1).max(1000).default(1000),
  after_id: text.max(512).optional(),
  before_id: text.max(512).optional(),
});

export const NO_QUERY = z.strictObject({});

/** A record by call id. `__proto__` would vanish on the way. */
function byCall<Schema extends z.ZodType>(schema: Schema) {
  return z
    .record(text.min(1).max(NAME_LENGTH), schema)
    .refine((calls) => Object.keys(calls).length > 0, "at least one call");
}

/** Checks what a client has sent. Throws a `RequestProblem` that says what is wrong and where. */
export function check<Schema extends z.ZodType>(schema: Schema, what: string, value: unknown): z.output<Schema> {
  refuseWide(what, value, FRAME_DEPTH);
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw new RequestProblem("request_invalid", cleanText(cutMiddle(faultText(schema, what, read.error), FAULT_BYTES)));
}

/** Checking tens of thousands of fields or entries would hold up all clients of the server. */
function refuseWide(place: string, value: unknown, depth: number): void {
  if (depth === 0) return;
  // A list is as deep as what it is in: a message may be a list of lists.
  if (Array.isArray(value)) {
    refuseMore(place, "entries, with those of its lists,", value.flat().length);
    for (const [index, one] of value.entries()) refuseWide(`${place}[${index}]`, one, depth);
  } else if (isFields(value)) {
    const names = Object.keys(value);
    refuseMore(place, "fields,", names.length);
    for (const name of names) refuseWide(`${place}.${name.slice(0, NAME_LENGTH)}`, value[name], depth - 1);
  }
}

function refuseMore(place: string, what: string, count: number): void {
  if (count > MOST_CALLS)
    throw new RequestProblem("request_invalid", `${place}: at most ${MOST_CALLS} ${what} and it has ${count}.`);
}

/** Characters of an unknown field's name. */
const UNKNOWN_LENGTH = 128;

/**
 * The message about a fault of a request and its place. An unknown field comes first: because of it another field may
 * seem to be missing.
 */
function faultText(schema: z.ZodType, what: string, { issues }: z.ZodError): string {
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  const path = issue?.path ?? [];
  const place = [what, ...path.map(String)].join(".");
  if (issue?.code !== "unrecognized_keys") return `${place}: ${issue ? plain(issue) : "it is invalid"}.`;
  return `${place}: ${unknownText(issue.keys[0] ?? "", fieldsAt(schema, path))}`;
}

function unknownText(name: string, fields: readonly string[]): string {
  const shown = JSON.stringify(name.slice(0, UNKNOWN_LENGTH));
  const [meant] = nearest(name, fields);
  if (meant !== undefined) return `there is no field ${shown}, did you mean ${meant}?`;
  return `there is no field ${shown}. ${fields.length === 0 ? "It takes none." : `The fields are ${fields.join(", ")}.`}`;
}

/** The fault in words of HTTP, not in a library's. What a route says itself stays. */
function plain(issue: z.core.$ZodIssue): string {
  const { code, message } = issue;
  const unit = "origin" in issue && issue.origin === "string" ? " characters" : "";
  switch (code) {
    case "invalid_type":
      return `${message.endsWith("received undefined") ? "it is missing, " : ""}expected ${issue.expected}`;
    case "invalid_value":
      return `expected ${issue.values.map((value) => JSON.stringify(value)).join(" or ")}`;
    case "too_small":
      return `expected at least ${issue.minimum}${unit}`;
    case "too_big":
      return `expected at most ${issue.maximum}${unit}`;
    default:
      return /^(?:Invalid|Unrecognized)/.test(message) ? "it is invalid" : message;
  }
}

/** Names of the fields that may stand at a path. */
function fieldsAt(schema: unknown, path: readonly PropertyKey[]): readonly string[] {
  const own = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  const [name, ...below] = path;
  if (own instanceof z.ZodRecord && name !== undefined) return fieldsAt(own.valueType, below);
  if (!(own instanceof z.ZodObject)) return [];
  return name === undefined ? Object.keys(own.shape) : fieldsAt(own.shape[String(name)], below);
}
