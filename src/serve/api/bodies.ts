import { z } from "zod";
import { faultText } from "./fault-text.ts";
import { RequestProblem } from "../http/problems.ts";
import { PREFIX_LENGTH, withoutPrefixes } from "../tenant-ids.ts";
import { LIMIT_RULES } from "../../programs/limits.ts";
import { cleanText } from "../../output/clean-text.ts";
import { isFields } from "../../values/fields.ts";
import { cutMiddle } from "../../values/cut-middle.ts";

/** Characters of an id that a client chooses, of a name, and of a text to search for. */
export const ID_LENGTH = 256 - PREFIX_LENGTH;
const NAME_LENGTH = 256;
const TEXT_LENGTH = 200;
/** Calls that one request decides or answers. */
const MOST_CALLS = 1000;
/** Characters of the schema of a result, as JSON. */
export const SCHEMA_LENGTH = 64 * 1024;
/** Depth of a body's own objects, below which are the values that it carries. */
const FRAME_DEPTH = 3;
/** Bytes of the sentence about a body that is refused. */
export const FAULT_BYTES = 1024;
/** Executions on one page of the list. */
const PAGE = 50;
const MOST_OF_PAGE = 200;

const execution = z
  .string()
  .min(1)
  .max(ID_LENGTH)
  .regex(/^\P{C}*$/u, "expected an id without control characters")
  .regex(/^(?!\.{1,2}$)/, "expected an id other than . and .., which no path can have")
  .refine((id) => withoutPrefixes(id) === id, "expected an id that is not like one of the server")
  .meta({ description: "id of the execution" });

const limits = z
  .strictObject(
    Object.fromEntries(
      Object.entries(LIMIT_RULES).map(([name, { min, max }]) => [name, z.int().min(min).max(max).optional()]),
    ),
  )
  .meta({ description: "changes to the limits, which may only narrow" });

/** The journal keeps it with each execution. */
const result = z.looseObject({}).meta({
  description: "JSON Schema (draft 2020-12) that the value has to fit; else it ends as `failed` with `result_invalid`",
});

export const EXECUTE_BODY = z.strictObject({
  program: z.string().meta({ description: "source of the program" }),
  language: z.enum(["javascript", "python"]).optional(),
  limits: limits.optional(),
  result: result.optional(),
  execution: execution.optional().meta({ description: "id of your choice: the same again never runs a second one" }),
  wait: z.boolean().default(true).meta({ description: "false: answer 202 as soon as the journal has the execution" }),
});

const decision = z.strictObject({
  allow: z.boolean().optional(),
  done: z.strictObject({ value: z.unknown() }).optional(),
  by: z.string().max(NAME_LENGTH).optional(),
  note: z.string().optional(),
  remember: z.literal("execution").optional(),
});

export const DECISIONS_BODY = z.strictObject({ decisions: byCall(decision) });

const clientResult = z.union([z.strictObject({ value: z.unknown() }), z.strictObject({ error: z.string().min(1) })], {
  error: "expected either { value } or { error }, which is a sentence",
});

export const RESULTS_BODY = z.strictObject({ results: byCall(clientResult) });

export const NO_BODY = z.strictObject({});

export const LIST_QUERY = z.strictObject({
  state: z.enum(["running", "waiting", "ended", "unread", "unreadable"]).optional(),
  tool: z.string().min(1).max(NAME_LENGTH).optional().meta({ description: "name of a tool, or a part of one" }),
  text: z.string().min(1).max(TEXT_LENGTH).optional().meta({ description: "part of the id, the program or the task" }),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, "expected the cursor of the page before")
    .transform(Number)
    .optional()
    .meta({ description: "that of the page before" }),
  limit: z.coerce.number().int().min(1).max(MOST_OF_PAGE).default(PAGE),
});

export const NO_QUERY = z.strictObject({});

/** A record by call id. `__proto__` would vanish on the way. */
function byCall<Schema extends z.ZodType>(schema: Schema) {
  return z
    .record(z.string().min(1).max(NAME_LENGTH), schema)
    .refine((calls) => Object.keys(calls).length > 0, "at least one call");
}

/** Checks what a client has sent. Throws a `RequestProblem` that says what is wrong and where. */
export function check<Schema extends z.ZodType>(schema: Schema, what: string, value: unknown): z.output<Schema> {
  refuseWide(what, value, FRAME_DEPTH);
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw new RequestProblem("request_invalid", cleanText(cutMiddle(faultText(schema, what, read.error), FAULT_BYTES)));
}

/** Checking hundreds of thousands of fields would hold up all clients of the server. */
function refuseWide(place: string, value: unknown, depth: number): void {
  if (depth === 0 || !isFields(value)) return;
  const names = Object.keys(value);
  if (names.length > MOST_CALLS)
    throw new RequestProblem("request_invalid", `${place}: at most ${MOST_CALLS} fields, and it has ${names.length}.`);
  for (const name of names) refuseWide(`${place}.${name.slice(0, NAME_LENGTH)}`, value[name], depth - 1);
}
