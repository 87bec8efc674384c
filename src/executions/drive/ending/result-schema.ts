import { hash } from "node:crypto";
import {
  cutMiddle,
  type ExecutionId,
  type Lane,
  option,
  optionError,
  PortcullisError,
  readPlainData,
} from "../../../base/index.ts";
import type { ProgramHeader } from "../../../journal/record.ts";
import type { JsonSchema } from "../../../tools/json-schema/json-schema.ts";
import {
  isObject,
  isPlain,
  isSchema,
  issuesText,
  readJsonSchema,
  schemaReason,
  type Schema,
  schemaFault,
  storedSchema,
  validate,
} from "../../../tools/schema.ts";
import { StepsSpent } from "../../../tools/json-schema/steps.ts";
import { shortTypeText } from "../../../tools/declarations/type-text.ts";
import type { Fault } from "../../outcome.ts";

/** Maximum of fields and elements of a value that is checked. A schema may report a fault for each. */
const MAX_VALUES = 40_000;
const REASON_BYTES = 2048;

export const RESULT = option<Schema>("a schema, like z.object({ … }) or jsonSchema({ … })", isObject);

export interface ResultSchema {
  readonly schema: Schema;
  readonly json: JsonSchema;
  /** SHA-256 in hex of the JSON Schema. */
  readonly digest: string;
}

/** The schema's fields in the header of a program. A library's schema is code, which a journal cannot keep. */
export function recordOfResult({ schema, json, digest }: ResultSchema): Pick<ProgramHeader, "result" | "resultSchema"> {
  return { result: digest, resultSchema: isPlain(schema) ? JSON.stringify(json) : undefined };
}

/** The schema in a header; undefined without one, or if its text, which may be foreign, does not match the digest. */
export function recordedResult({
  result,
  resultSchema: text,
}: Pick<ProgramHeader, "result" | "resultSchema">): ResultSchema | undefined {
  if (text === undefined || hash("sha256", text) !== result) return undefined;
  try {
    return resultSchemaOf(storedSchema(JSON.parse(text) as JsonSchema), "the schema in the journal");
  } catch {
    return undefined;
  }
}

/** Reads the option `result`. `place` is how errors name it. Throws `option_invalid` for a value that gives no JSON Schema. */
export function resultSchemaOf(schema: Schema | undefined, place: string): ResultSchema | undefined {
  if (schema === undefined) return undefined;
  const fault = schemaFault(schema);
  if (fault !== undefined) throw new PortcullisError("option_invalid", `${place}: ${fault}`);
  if (!isSchema(schema)) throw optionError(place, RESULT.expected, schema);
  const json = jsonSchemaFor(schema, place);
  return { schema, json, digest: hash("sha256", JSON.stringify(json)) };
}

function jsonSchemaFor(schema: Schema, place: string): JsonSchema {
  try {
    return readJsonSchema(schema, "input");
  } catch (error) {
    throw new PortcullisError(
      "option_invalid",
      `${place} has no JSON Schema: ${schemaReason(error)}. What a program returns is JSON.`,
      { cause: error },
    );
  }
}

/** Throws `option_invalid` if the execution began with another schema, or if it needs a schema to go on and has none. */
export function refuseOtherResult(
  { execution, result }: Pick<ProgramHeader, "execution" | "result">,
  schema: ResultSchema | undefined,
  isNeeded: boolean,
): void {
  if (schema ? schema.digest === result : result === undefined || !isNeeded) return;
  throw new PortcullisError("option_invalid", otherResult(execution, result !== undefined, schema !== undefined));
}

function otherResult(execution: ExecutionId, began: boolean, hasSchema: boolean): string {
  const id = JSON.stringify(execution);
  if (!began) return `Execution ${id} began without a schema for its result: resume it without \`result\`.`;
  return hasSchema
    ? `Execution ${id} began with another schema for its result: give it that schema, as \`result\`.`
    : `Execution ${id} began with a schema for its result, and cannot continue without it: give it that schema, as \`result\`.`;
}

/**
 * Checks the JSON text that a program returned; undefined if it returned nothing. `allowedBytes` bounds the text that
 * is parsed and checked on the host's thread. The resulting value is as the schema has transformed it.
 */
export async function checkResult(
  text: string | undefined,
  { schema, json }: ResultSchema,
  allowedBytes: number,
  lane: Lane,
): Promise<{ readonly ok: true; readonly value: unknown } | Unfit> {
  const bytes = text === undefined ? 0 : Buffer.byteLength(text);
  if (bytes > allowedBytes)
    return invalid(
      `it has ${bytes} bytes, and a value that is checked may have ${allowedBytes} (limit inputBytes). Return less`,
      json,
    );
  const read = text === undefined ? undefined : await lane.run(() => readPlainData(text, MAX_VALUES));
  if (read?.ok === false) return invalid(read.reason, json);
  try {
    const validated = await lane.run(() => validate(schema, read?.value));
    if (validated.ok) return validated;
    return invalid(text === undefined ? "the program returned nothing" : issuesText(validated.issues), json);
  } catch (error) {
    return invalid(
      error instanceof StepsSpent ? "it takes too long to be checked: return less" : "the schema cannot check it",
      json,
    );
  }
}

interface Unfit {
  readonly ok: false;
  readonly fault: Fault;
}

function invalid(reason: string, json: JsonSchema): Unfit {
  const type = shortTypeText(json);
  const expected = type === "" ? "" : ` It has to be ${type}.`;
  const sentence = `The returned value does not fit: ${cutMiddle(reason, REASON_BYTES)}`;
  const message = `${sentence}${sentence.endsWith("?") ? "" : "."}${expected}`;
  return { ok: false, fault: { name: "ResultError", code: "result_invalid", message } };
}
