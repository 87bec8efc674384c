import { readFileSync, existsSync } from "node:fs";
import { basename } from "node:path";
import {
  optionError,
  didYouMean,
  fieldOf,
  lossText,
  lostData,
  type OptionPresence,
  type OptionRule,
  parsedJson,
  PortcullisError,
  checkOptions,
  type OptionRules,
  type OptionsOf,
} from "../../base/index.ts";
import type { JsonSchema } from "../../tools/json-schema/index.ts";
import { jsonSchema, type Schema } from "../../tools/schema.ts";
import type { WebhookOptions } from "../../serve/webhooks/webhook-options.ts";
import { causeOf, UsageFailure } from "../failure.ts";
import { type OptionReader, collecting, type DeclaredOption } from "../option.ts";
import { oneLine } from "../terminal/standard-streams.ts";

export function noFile(path: string): string {
  return `there is no file ${oneLine(path)}.`;
}

/** Refuses a file that an option names, if there is none. */
export function requireFile(option: string, path: string): void {
  if (path.trim() === "") throw optionError(option, "the name of a file", path);
  if (!existsSync(path)) throw new UsageFailure(`${option}: ${noFile(path)}`);
}

/** Reads the text of a file that is not empty. */
export function readText(flag: string, path: string): string {
  requireFile(flag, path);
  try {
    const text = readFileSync(path, "utf8").replace(/^\ufeff/, "");
    if (text.trim() !== "") return text;
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new UsageFailure(`${flag}: ${path} cannot be read: ${why}.`);
  }
  throw new UsageFailure(`${flag}: ${path} is empty.`);
}

/** Reads a document that a model has before it begins. */
export function readFileContent(flag: string, path: string) {
  return { name: basename(path), text: readText(flag, path) };
}

/** Reads JSON from a file, and makes of it what an option takes. No error shows what is in the file: it may hold secrets. */
function reading<Value>(what: string, make: (value: unknown) => Value): OptionReader<Value> {
  return (flag, path) => {
    const text = readText(flag, path);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new UsageFailure(`${flag}: ${path} is no JSON. Give a file with ${what}.`);
    }
    try {
      return make(value);
    } catch (cause) {
      throw new UsageFailure(`${flag}: ${path}: ${causeOf(cause)}. Give a file with ${what}.`, { cause });
    }
  };
}

export const readSchema = reading<Schema>("a JSON Schema", (value) => jsonSchema(value as JsonSchema));
export const readWebhookFile = reading<readonly WebhookOptions[]>('a list of { "url", "secret" }', (value) => {
  if (!Array.isArray(value)) throw new Error("it has no list");
  return value as readonly WebhookOptions[];
});

/** Reads a whole number, by the rule of its option. */
export function whole(rule: OptionRule<number, OptionPresence>): OptionReader<number> {
  return (flag, text) => {
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!rule.accepts(number)) throw optionError(flag, rule.expected, text);
    return number;
  };
}

/** Reads one of these words. */
export function oneWord<const Word extends string>(words: readonly Word[]): OptionReader<Word> {
  return (flag, text) => {
    const found = words.find((one) => one === text);
    if (found !== undefined) return found;
    const expected = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
    const { code, message } = optionError(flag, expected, text);
    throw new PortcullisError(code, `${message}${didYouMean(text, words)}`);
  };
}

/** Reads JSON, of which no number or field may be lost. */
export function parseJson(flag: string, text: string): unknown {
  const value = parsedJson(text);
  if (value === undefined) throw optionError(flag, "JSON", text);
  const lost = lostData(text, value);
  if (lost) throw new PortcullisError("option_invalid", `${flag}: ${lossText(lost)}.`);
  return value;
}

/** Reads `CALL=JSON`. */
export function callResult(flag: string, text: string): readonly [call: string, result: { readonly value: unknown }] {
  const end = text.indexOf("=");
  if (end < 1) throw optionError(flag, 'CALL=JSON, like 3={"units":4}', text);
  return [text.slice(0, end), { value: parseJson(flag, text.slice(end + 1)) }];
}

/** The values of `--approve`: how calls that need approval are decided. */
export const APPROVE_MODES = ["ask", "all", "none", "later"] as const;
export type ApproveMode = (typeof APPROVE_MODES)[number];

/** Refuses `--approve later` unless the command keeps its execution in a journal: a decision could not come later. */
export function refuseLater(mode: ApproveMode, canWait: boolean): void {
  if (mode === "later" && !canWait)
    throw new UsageFailure(
      "--approve later needs a program that `portcullis run` keeps in a journal: add --journal FILE.",
    );
}

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
export function durationOption({ bare = "", min, max, example }: DurationRule): OptionReader<number> {
  return (flag, text) => {
    const { number = Number.NaN, unit = "" } = readAmount(text) ?? {};
    const name = unit === "" ? bare : unit;
    const worth = fieldOf(TIMES, name) as number | undefined;
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
      const [, name = "", value] = /^([A-Za-z]{1,40})=(.*)$/s.exec(text) ?? [];
      if (name === "") throw optionError(flag, `name=value, like ${names[0]}=5`, text);
      const place = { object: flag, subject: flag, at: () => `${flag} ${name}` };
      return { ...before, ...checkOptions(place, { [name]: readSetting(name, value!) }, rules) };
    },
  );
}

/** The rules of the option check names and ranges, and refuse a value that is still text, like one with an unknown unit. */
function readSetting(name: string, text: string): unknown {
  const units = name.endsWith("Bytes") ? BYTES : name.endsWith("Ms") ? TIMES : {};
  const { number, unit = "" } = readAmount(text) ?? {};
  const factor = unit === "" ? 1 : (fieldOf(units, unit) as number | undefined);
  if (number !== undefined && factor !== undefined) return timesUnit(number, factor);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
