import { checkOptions, optionError, type OptionRules, type OptionsOf } from "../../base/index.ts";
import { collecting, type DeclaredOption, type Reader } from "../option.ts";

type Units = Readonly<Record<string, number>>;

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

interface DurationRule {
  /** Unit of a number without one; without this a unit is needed. */
  readonly bare?: keyof typeof TIMES;
  /** In milliseconds. */
  readonly min: number;
  readonly max: number;
  readonly example: string;
}

/** Reads a duration like `30s`, `5min`, `12h` or `30d`, in milliseconds. */
export function duration({ bare = "", min, max, example }: DurationRule): Reader<number> {
  return (flag, text) => {
    const { number = Number.NaN, unit = "" } = readAmount(text) ?? {};
    const name = unit === "" ? bare : unit;
    const worth = Object.hasOwn(TIMES, name) ? TIMES[name] : undefined;
    const ms = worth === undefined ? Number.NaN : timesUnit(number, worth);
    if (ms >= min && ms <= max) return ms;
    const units = `in ${Object.keys(TIMES).join(", ")}${bare === "" ? "" : `; without a unit in ${bare}`}`;
    throw optionError(flag, `${example} (${units}; ${min} to ${max} ms)`, text);
  };
}

/**
 * A repeatable option `name=value` of what an API takes, by the rules of that. A value is a number, with a unit if its name ends
 * in `Ms` or `Bytes`, or JSON, or else a text.
 */
export function settings<Rules extends OptionRules>(
  description: string,
  rules: Rules,
): DeclaredOption<OptionsOf<Rules>> {
  const names = Object.keys(rules);
  return collecting<OptionsOf<Rules>>(
    `${description} (${names.join(", ")})`,
    {} as OptionsOf<Rules>,
    (flag, text, before) => {
      const [, name = "", value = ""] = /^([A-Za-z]{1,40})=(.*)$/s.exec(text) ?? [];
      if (name === "") throw optionError(flag, `name=value, like ${names[0]}=5`, text);
      const place = { object: flag, subject: flag, at: () => `${flag} ${name}` };
      return { ...before, ...checkOptions(place, { [name]: readSetting(name, value) }, rules) };
    },
  );
}

/** The rules of the option check names and ranges, and refuse a value that is still text, like one with an unknown unit. */
function readSetting(name: string, text: string): unknown {
  const units = name.endsWith("Bytes") ? BYTES : name.endsWith("Ms") ? TIMES : {};
  const { number, unit = "" } = readAmount(text) ?? {};
  const factor = unit === "" ? 1 : Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (number !== undefined && factor !== undefined) return timesUnit(number, factor);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
