import { optionError, PortcullisError } from "../errors.ts";
import { nearest } from "./nearest.ts";

/** Whether an option must be given, may be left out, or has a default. */
export type OptionPresence = "required" | "optional" | "default";

/**
 * What one option may be. Types, checks, defaults and the tables in the documentation all come from the rules of an
 * options object, so an option exists as soon as it has a rule.
 */
export interface OptionRule<Value, Presence extends OptionPresence> {
  /** For the error, like `a whole number from 1 to 100`. */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  readonly presence: Presence;
  /** What holds where the option is left out. */
  readonly default?: Value;
  /** For the documentation: what the option does, in sentences. */
  readonly summary: string;
  /** Carries the type; never set. */
  readonly value?: Value;
}

export interface NumberRule extends OptionRule<number, "default"> {
  readonly min: number;
  readonly max: number;
}

export type OptionRules = Readonly<Record<string, OptionRule<unknown, OptionPresence>>>;

type ValueOf<Rule> = Rule extends { readonly value?: infer Value } ? Exclude<Value, undefined> : never;
type With<Rules, Wanted extends OptionPresence> = {
  [Name in keyof Rules]: Rules[Name] extends { readonly presence: Wanted } ? Name : never;
}[keyof Rules];

/** The options as a caller writes them. */
export type OptionsOf<Rules> = {
  readonly [Name in keyof Rules as Name extends With<Rules, "required"> ? Name : never]: ValueOf<Rules[Name]>;
} & {
  readonly [Name in keyof Rules as Name extends With<Rules, "required"> ? never : Name]?: ValueOf<Rules[Name]>;
};

/** The options as they hold: checked, with defaults in place. */
export type Resolved<Rules> = {
  readonly [Name in keyof Rules as Name extends With<Rules, "optional"> ? never : Name]: ValueOf<Rules[Name]>;
} & {
  readonly [Name in keyof Rules as Name extends With<Rules, "optional"> ? Name : never]?: ValueOf<Rules[Name]>;
};

/** A value that a guard recognises. The type parameter is for what a guard cannot tell, like a function's parameters. */
export function option<Value>(
  expected: string,
  accepts: (value: unknown) => boolean,
  summary: string,
): OptionRule<Value, "optional"> {
  return { expected, accepts, presence: "optional", summary };
}

export function required<Value>(rule: OptionRule<Value, "optional">): OptionRule<Value, "required"> {
  return { ...rule, presence: "required" };
}

export function withDefault<Value>(rule: OptionRule<Value, "optional">, value: Value): OptionRule<Value, "default"> {
  return { ...rule, presence: "default", default: value };
}

interface NumberOptions {
  readonly min: number;
  readonly max: number;
  readonly default: number;
  readonly summary: string;
}

export function wholeNumber({ min, max, summary, default: value }: NumberOptions): NumberRule {
  return {
    expected:
      max === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`,
    accepts: (given) => Number.isSafeInteger(given) && (given as number) >= min && (given as number) <= max,
    presence: "default",
    default: value,
    summary,
    min,
    max,
  };
}

export function oneOf<const Value extends string>(
  values: readonly Value[],
  summary: string,
): OptionRule<Value, "optional"> {
  const expected = values.map((value) => `"${value}"`).join(" or ");
  return option(expected, (given) => values.some((value) => value === given), summary);
}

export function text(
  {
    minLength = 1,
    maxLength = Number.MAX_SAFE_INTEGER,
    expected = "a text",
  }: {
    readonly minLength?: number;
    readonly maxLength?: number;
    readonly expected?: string;
  },
  summary: string,
): OptionRule<string, "optional"> {
  return option(
    expected,
    (given) => typeof given === "string" && given.length >= minLength && given.length <= maxLength,
    summary,
  );
}

export function flag(summary: string): OptionRule<boolean, "optional"> {
  return option("true or false", (given) => typeof given === "boolean", summary);
}

/** A function: that it takes and gives what its type says cannot be checked. */
export function callback<Callback>(summary: string, expected = "a function"): OptionRule<Callback, "optional"> {
  return option(expected, (given) => typeof given === "function", summary);
}

/**
 * Checks options against their rules and puts defaults in place. `subject` is what was called, like `createRuntime`.
 * Throws `option_invalid` for what is no object, for an option without a rule, with the name that may have been meant,
 * for a required option that is missing, and for a value that its rule does not accept. An option that is `undefined`
 * counts as left out.
 */
export function readOptions<Rules extends OptionRules>(
  subject: string,
  options: unknown,
  rules: Rules,
): Resolved<Rules> {
  if (typeof options !== "object" || options === null) throw optionError(`${subject}(options)`, "an object", options);
  const names = Object.keys(rules);
  for (const name of Object.keys(options)) if (!Object.hasOwn(rules, name)) throw unknownOption(subject, name, names);
  const resolved: Record<string, unknown> = {};
  for (const [name, { accepts, expected, presence, ...rule }] of Object.entries(rules)) {
    const given = (options as Readonly<Record<string, unknown>>)[name];
    if (given !== undefined && accepts(given)) resolved[name] = given;
    else if (given !== undefined || presence === "required")
      throw optionError(`${subject}({ ${name} })`, expected, given);
    else if (presence === "default") resolved[name] = rule.default;
  }
  return resolved as Resolved<Rules>;
}

/** The values that hold where nothing is said. */
export function defaultsOf<Rules extends OptionRules>(
  rules: Rules,
): { readonly [Name in With<Rules, "default">]: ValueOf<Rules[Name]> } {
  const defaults = Object.entries(rules).filter(([, { presence }]) => presence === "default");
  return Object.freeze(Object.fromEntries(defaults.map(([name, rule]) => [name, rule.default]))) as never;
}

function unknownOption(subject: string, name: string, names: readonly string[]): PortcullisError {
  const [meant] = nearest(name, names, 1);
  return new PortcullisError(
    "option_invalid",
    `${subject}: there is no option ${JSON.stringify(name)}${meant === undefined ? "." : `, did you mean ${meant}?`} The options are ${names.join(", ")}.`,
  );
}
