import { readUrl } from "../../base/index.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { SchemaNode } from "./compile-schema.ts";
import { type Findings, shownValue } from "./findings.ts";
import type { Steps } from "./steps.ts";
import { format as known } from "@cfworker/json-schema";
import { isPattern } from "./patterns/parse-pattern.ts";

/** Characters counted per step. */
const CHARACTERS_A_STEP = 8;
/** Steps of one `multipleOf` check, which may divide integers of hundreds of digits. */
const MULTIPLE_STEPS = 60;

export function checkNumber(steps: Steps, node: SchemaNode, value: number | bigint, found: Findings): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node;
  if (minimum !== undefined && value < minimum) found.add(() => `expected at least ${minimum}`);
  if (maximum !== undefined && value > maximum) found.add(() => `expected at most ${maximum}`);
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    found.add(() => `expected more than ${exclusiveMinimum}`);
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
    found.add(() => `expected less than ${exclusiveMaximum}`);
  if (multipleOf === undefined) return;
  steps.spend(MULTIPLE_STEPS);
  if (!isMultipleOf(value, multipleOf)) found.add(() => `expected a multiple of ${multipleOf}`);
}

export function checkString(steps: Steps, node: SchemaNode, value: string, found: Findings): void {
  const { pattern, minLength, maxLength } = node;
  const { format, pattern: source } = node.schema as JsonSchema;
  if (minLength !== undefined || maxLength !== undefined) {
    steps.spend(1 + value.length / CHARACTERS_A_STEP);
    found.addCount(node, ["minLength", "maxLength"], lengthOf(value), "characters");
  }
  if (pattern && !pattern.test(value, steps)) found.add(() => `expected text that matches ${shownValue(source)}`);
  if (format !== undefined) {
    steps.spend(formatSteps(format, value.length));
    if (!fitsFormat(format, value)) found.add(() => `expected text in the format ${shownValue(format)}`);
  }
}

/** In code points. */
function lengthOf(text: string): number {
  let length = 0;
  for (let at = 0; at < text.length; length += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return length;
}

/** Whether a number is a whole multiple of another in decimal notation: 0.3 is a multiple of 0.1. */
function isMultipleOf(value: number | bigint, divisor: number): boolean {
  if (!Number.isFinite(Number(value)) || !Number.isFinite(divisor) || divisor <= 0) return false;
  const [digits, exponent] = decimalOf(value);
  const [divisorDigits, divisorExponent] = decimalOf(divisor);
  const shift = exponent - divisorExponent;
  return shift >= 0
    ? (digits * 10n ** BigInt(shift)) % divisorDigits === 0n
    : digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n;
}

/** Digits and decimal exponent of a number without its sign. */
export function decimalOf(number: number | bigint): readonly [bigint, number] {
  const [digits = "", exponent = "0"] = String(number).replace(/^-/, "").split("e");
  const [whole = "", fraction = ""] = digits.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}

/** Maximum length of a text with a format, in characters. A longer text does not match. */
const LONGEST = 64 * 1024;
/** Maximum length of texts whose format is short. Texts of times and durations may have any number of digits. */
const SHORT: Readonly<Record<string, number>> = {
  date: 10,
  "date-time": 256,
  duration: 256,
  email: 64 + "@".length + 253,
  hostname: 253,
  ipv4: 15,
  ipv6: 45,
  time: 256,
  uuid: 36,
};

/** Where the library's own check takes no linear time (no standard says what `url` is), or gives a foreign pattern to V8. */
const OWN: Readonly<Record<string, (text: string) => boolean>> = {
  url: (text) => readUrl(text) !== undefined,
  regex: isPattern,
};

/** Unknown formats match, as JSON Schema allows. */
export function fitsFormat(format: unknown, text: string): boolean {
  if (typeof format !== "string" || !Object.hasOwn(known, format)) return true;
  return text.length <= longest(format) && (OWN[format] ?? known[format])?.(text) === true;
}

function longest(format: string): number {
  return Object.hasOwn(SHORT, format) ? (SHORT[format] ?? 0) : LONGEST;
}

/** Steps of the check of a format. `regex` costs more: each place of a pattern becomes objects. */
function formatSteps(format: unknown, length: number): number {
  if (typeof format !== "string" || length > longest(format)) return 1;
  return 1 + length * (format === "regex" ? 10 : 1 / 2);
}
