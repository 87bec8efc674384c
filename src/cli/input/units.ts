import { optionError } from "../../errors.ts";
import { LIMIT_RULES } from "../../programs/limits.ts";

export type Units = Readonly<Record<string, number>>;

const BYTES: Units = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const TIMES: Units = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };

const NUMBER = String.raw`-?\d{1,15}(?:_\d{1,15}){0,5}(?:\.\d{1,15})?(?:e\+?\d{1,3})?`;
const AMOUNT = new RegExp(`^(${NUMBER}) ?([A-Za-z]{0,10})$`);

/** A number and its unit, like `64 MiB`; undefined for other text. */
function readAmount(text: string): { readonly number: number; readonly unit: string } | undefined {
  const [, digits, unit = ""] = AMOUNT.exec(text) ?? [];
  return digits === undefined ? undefined : { number: Number(digits.replaceAll("_", "")), unit };
}

/** The number of smallest units. Rounds away the error of binary fractions: 1.001 s is 1001 ms. */
function timesUnit(number: number, worth: number): number {
  return Number((number * worth).toPrecision(15));
}

export interface DurationRule {
  /** Unit of a number without one; without this a unit is needed. */
  readonly bare?: keyof typeof TIMES;
  /** In milliseconds. */
  readonly min: number;
  readonly max: number;
  readonly example: string;
}

/** Milliseconds of a duration like `30s`, `5min`, `12h` or `30d`. Throws `option_invalid`, naming the flag. */
export function parseDuration(flag: string, text: string, { bare, min, max, example }: DurationRule): number {
  const { number = Number.NaN, unit = "" } = readAmount(text) ?? {};
  const name = unit === "" ? (bare ?? "") : unit;
  const worth = Object.hasOwn(TIMES, name) ? TIMES[name] : undefined;
  const ms = worth === undefined ? Number.NaN : timesUnit(number, worth);
  if (ms >= min && ms <= max) return ms;
  const units = `in ${Object.keys(TIMES).join(", ")}${bare === undefined ? "" : `; without a unit in ${bare}`}`;
  throw optionError(flag, `${example} (${units}; ${min} to ${max} ms)`, text);
}

const NONE: Units = {};

/**
 * A limit from the command line, like `memoryBytes=64MiB`; or a sentence that says what is wrong with it. The rules of the
 * limits check names and ranges, and refuse a value that is still text.
 */
export function parseLimit(text: string): { readonly name: string; readonly value: number | string } | string {
  const [, name, rest = ""] = /^([A-Za-z]{1,40})=(.*)$/.exec(text) ?? [];
  if (name === undefined) return `Expected name=value, like memoryBytes=64MiB, got ${JSON.stringify(text)}.`;
  const amount = readAmount(rest);
  const units = unitsOf(name);
  if (!amount) return noAmount(name, rest, units) ?? { name, value: rest };
  const { number, unit } = amount;
  const factor = unit === "" ? 1 : Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (factor === undefined)
    return units === NONE
      ? `${name} is a number without a unit, got the unit ${JSON.stringify(unit)}.`
      : `There is no unit ${JSON.stringify(unit)} for ${name}: use ${Object.keys(units).join(", ")}, or none.`;
  return { name, value: timesUnit(number, factor) };
}

/** What a limit with units takes, with an example; undefined for another limit, about which its rule speaks. */
function noAmount(name: string, text: string, units: Units): string | undefined {
  const rules: Readonly<Record<string, { readonly expected: string }>> = LIMIT_RULES;
  const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
  if (!rule || units === NONE) return undefined;
  const [unit, example] = units === TIMES ? ["milliseconds", "30s"] : ["bytes", "64MiB"];
  return `${name} takes ${rule.expected}, in ${unit} or with a unit, like ${example}, got ${JSON.stringify(text)}.`;
}

function unitsOf(name: string): Units {
  if (name.endsWith("Bytes")) return BYTES;
  if (name.endsWith("Ms")) return TIMES;
  // Any unit is accepted for an unknown name, because the error to report is the name.
  return Object.hasOwn(LIMIT_RULES, name) ? NONE : { ...BYTES, ...TIMES };
}
