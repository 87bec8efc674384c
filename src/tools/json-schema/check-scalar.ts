import type { JsonSchema } from "../schema.ts";
import type { BoundsOf, Checker } from "./checker.ts";
import type { SchemaNode } from "./compile-schema.ts";
import type { Findings } from "./findings.ts";
import { fitsFormat, formatSteps } from "./formats.ts";
import { isMultipleOf } from "./multiple-of.ts";

/** Characters counted per step. */
const CHARACTERS_A_STEP = 8;
/** Steps of one `multipleOf` check, which may divide integers of hundreds of digits. */
const MULTIPLE_STEPS = 60;

export function checkNumber(checker: Checker, schema: JsonSchema, value: number, found: Findings): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Record<string, number>;
  if (minimum !== undefined && value < minimum) found.add("minimum", () => `${value} is less than ${minimum}.`);
  if (maximum !== undefined && value > maximum) found.add("maximum", () => `${value} is greater than ${maximum}.`);
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    found.add("exclusiveMinimum", () => `${value} is less than ${exclusiveMinimum}.`);
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
    found.add("exclusiveMaximum", () => `${value} is greater than or equal to ${exclusiveMaximum}.`);
  if (multipleOf === undefined) return;
  checker.steps.spend(MULTIPLE_STEPS);
  if (!isMultipleOf(value, multipleOf)) found.add("multipleOf", () => `${value} is not a multiple of ${multipleOf}.`);
}

export function checkString(
  checker: Checker,
  { pattern }: SchemaNode,
  schema: JsonSchema,
  value: string,
  found: Findings,
): void {
  const { format } = schema;
  const { minLength, maxLength } = schema as BoundsOf<"minLength" | "maxLength">;
  if (minLength !== undefined || maxLength !== undefined) {
    const length = lengthOf(value);
    checker.steps.spend(1 + value.length / CHARACTERS_A_STEP);
    if (minLength !== undefined && length < minLength)
      found.add("minLength", () => `String is too short (${length} < ${minLength}).`);
    if (maxLength !== undefined && length > maxLength)
      found.add("maxLength", () => `String is too long (${length} > ${maxLength}).`);
  }
  if (pattern && !pattern.test(value, checker.steps)) found.add("pattern", () => "String does not match pattern.");
  if (format !== undefined) {
    checker.steps.spend(1 + value.length * formatSteps(format));
    if (!fitsFormat(format, value)) found.add("format", () => `String does not match format "${format as string}".`);
  }
}

/** In code points. */
function lengthOf(text: string): number {
  let length = 0;
  for (let at = 0; at < text.length; length += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return length;
}
