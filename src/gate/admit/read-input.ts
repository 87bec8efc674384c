import {
  type HeldOverdraft,
  lossText,
  lostData,
  measure,
  type Measurements,
  memoryOf,
  nearest,
  nextTurn,
  pathText,
  PLAIN_DEPTH,
  readPlainData,
  shownKey,
  stringifyUnusual,
  TOO_LARGE,
} from "../../base/index.ts";
import type { FieldsRead } from "../../tools/json-schema/input-fields.ts";
import { StepsSpent } from "../../tools/json-schema/steps.ts";
import {
  DESCRIBED_VALUES,
  isPlain,
  type Issue,
  issuesText,
  validate,
  type ValidationResult,
} from "../../tools/schema.ts";
import { inputFieldsOf, type ToolInput } from "../../tools/tool-schemas.ts";
import type { Overdraft } from "./budget.ts";
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

/** Memory per parsed value beside the text, measured on the worst case: empty lists in a list, with the schema's copy. */
const VALUE_BYTES = 72;
/** Memory per value of one more copy, with which a schema's copy is compared. */
const COPY_BYTES = 40;

export type ReadInput =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** JSON text of the value, if the schema has made another one than the text says. */
      readonly converted?: string | undefined;
    }
  | { readonly ok: false; readonly reason: string }
  | { readonly ok: "no_room"; readonly overdraft: Overdraft };

/** What was shown of an input that was read before: `converted`, or the input as it was sent. */
export interface ShownInput {
  readonly converted: string | undefined;
  /** The digest that its journal has. */
  readonly digest?: string | undefined;
}

/**
 * Parses the text that a caller sent and checks that it is plain data of bounded depth. Refuses fields that the tool's
 * schema does not know, leaves out optional fields that are null, and validates the rest. Before parsing, the text's
 * values are counted, and `takeRoom` reserves the memory that they will take beside the text's own, `textBytes`. The value
 * of an input that was `shown` is what was shown, also if the schema makes another one each time.
 */
export function readInput(
  tool: ToolInput,
  text: string,
  inputValues: number,
  takeRoom: (bytes: number) => HeldOverdraft | undefined,
  textBytes = memoryOf(text),
  shown?: ShownInput,
): ReadInput | Promise<ReadInput> {
  const measured = measure(text);
  const { depth, values } = measured;
  if (values > inputValues && depth <= PLAIN_DEPTH)
    return { ok: "no_room", overdraft: { limit: "inputValues", allowed: inputValues, seen: values } };
  const compared = isPlain(tool.inputSchema) ? 0 : values * COPY_BYTES;
  const overdraft = takeRoom(parsedBytes(textBytes, measured) + compared);
  if (overdraft) return { ok: "no_room", overdraft };
  const read = readPlainData(text, inputValues, measured);
  if (!read.ok && read.reason !== TOO_LARGE) return read;
  const lost = lostData(text, read.ok ? read.value : undefined, measured);
  if (lost) return { ok: false, reason: lossText(lost) };
  if (!read.ok) return read;
  const sent = { text, value: read.value, shown };
  if (values <= DESCRIBED_VALUES) return fitted(tool, sent);
  // A schema takes as long as parsing, and is work for a turn of its own.
  return nextTurn().then(() => fitted(tool, sent));
}

/** A parsed input, once the tool's schema takes it. */
function fitted(
  tool: ToolInput,
  { text, value, shown }: Omit<Sent, "isAsSent"> & { readonly value: unknown },
): ReadInput | Promise<ReadInput> {
  try {
    const fields = inputFieldsOf(tool, value);
    const issues = fields === undefined ? [] : unknownIssues(tool.name, fields);
    const isAsSent = isPlain(tool.inputSchema) && fields?.dropped !== true;
    const finish = (validated: ValidationResult) => toRead(validated, issues, { text, isAsSent, shown });
    // Validated even if fields are refused: the caller is told of all faults at once.
    const validated = validate(tool.inputSchema, value);
    return validated instanceof Promise ? validated.then(finish).catch(unreadable) : finish(validated);
  } catch (error) {
    return error instanceof StepsSpent
      ? { ok: false, reason: "it takes too long to be checked against the tool's schema: pass less" }
      : unreadable();
  }
}

/** Memory that a text of so many bytes takes together with its value. */
export function parsedBytes(textBytes: number, { values }: Pick<Measurements, "values">): number {
  return textBytes + values * VALUE_BYTES;
}

interface Sent {
  readonly text: string;
  /** Whether nothing can have changed the value. */
  readonly isAsSent: boolean;
  readonly shown: ShownInput | undefined;
}

function toRead(validated: ValidationResult, unknown: readonly Issue[], { text, isAsSent, shown }: Sent): ReadInput {
  const issues = [...unknown, ...(validated.ok ? [] : validated.issues)];
  if (!validated.ok || issues.length > 0) return { ok: false, reason: issuesText(issues) };
  const { value } = validated;
  const converted = isAsSent ? undefined : convertedText(text, value);
  if (!shown || shown.converted === converted) return { ok: true, value, converted };
  // The schema makes another value each time. What was shown is the input, if JSON says all of it.
  const before = JSON.parse(shown.converted ?? text) as unknown;
  if (isSameData(shownJson(value), value)) return { ok: true, value: before };
  return isSameData(shownJson(value), before) ? { ok: true, value } : { ok: false, reason: CHANGES };
}

const CHANGES =
  "the tool's schema makes another value of it each time it is read, and not the one that was decided about: call again with all fields given";

/** JSON text of a value that a schema has made; undefined if the text says the same. Schemas may change what they are given, so it is parsed again. */
function convertedText(text: string, value: unknown): string | undefined {
  if (isSameData(text, value)) return undefined;
  const converted = shownJson(value);
  return isSameData(text, JSON.parse(converted)) ? undefined : converted;
}

/** A schema that throws did not expect the value, so the value is not a valid input. */
function unreadable(): ReadInput {
  return { ok: false, reason: "it cannot be checked against the tool's schema" };
}

function unknownIssues(tool: string, { unknown, total }: FieldsRead): readonly Issue[] {
  const issues = unknown.map(({ path, names }) => {
    const [meant] = nearest(String(path.at(-1)), names, 1);
    const place = pathText(path.map(shownKey));
    return {
      path: "",
      message: `${place} is not a field of ${tool}${meant === undefined ? "" : `; did you mean ${String(shownKey(meant))}?`}`,
    };
  });
  const unlisted = total - unknown.length;
  const more = `and ${unlisted} more ${unlisted === 1 ? "field" : "fields"} that ${tool} does not have`;
  return unlisted === 0 ? issues : [...issues, { path: "", message: more }];
}

const NOT_JSON = "(not JSON)";

/** Stands for what has no JSON form: no text, number or list that a rule could take for a harmless one. */
const withoutForm = (thing: string) => ({ [NOT_JSON]: thing });

/**
 * SHA-256 in hex of the JSON text of an input as it is shown, with what was sent if that differs: two values may differ in
 * what their JSON does not say.
 */
export function digestOfShown(sent: string, { converted, digest }: Partial<ShownInput> = {}): string {
  if (converted === undefined) return hash("sha256", sent);
  return digest ?? hash("sha256", JSON.stringify([converted, sent]));
}

/** JSON text of a value that a schema has made, as people and rules are shown it. Never throws. */
function shownJson(value: unknown): string {
  try {
    return stringifyUnusual(value, Infinity, withoutForm) ?? "null";
  } catch {
    // It contains itself, or its own code throws.
    return JSON.stringify(withoutForm("a value that cannot be read"));
  }
}

/** Whether a JSON text says the same as a value, whatever the order of fields. */
function isSameData(json: string, value: unknown): boolean {
  return isDeepStrictEqual(JSON.parse(json), value);
}
