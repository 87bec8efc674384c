import { optionError, PortcullisError } from "../errors.ts";
import { nearest } from "./nearest.ts";

/** Whether an option must be given, may be left out, or has a default. */
export type OptionPresence = "required" | "optional" | "default";

/**
 * What one option may be. Types, checks and defaults all come from the rules of an options object, so an option exists
 * as soon as it has a rule. The JSDoc of a rule is the option's sentence: editors show it, and the tables in the
 * documentation are held to it.
 */
export interface OptionRule<Value, Presence extends OptionPresence> {
  /** For the error, like `a whole number from 1 to 100`. */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  readonly presence: Presence;
  /** What holds where the option is left out. */
  readonly default?: Value;
  /** Carries the type; never set. */
  readonly value?: Value;
}

export interface DefaultRule<Value> extends OptionRule<Value, "default"> {
  readonly default: Value;
}

/** Bounds are part of the range. */
interface Bounds {
  readonly min: number;
  readonly max: number;
}

export interface NumberRule extends DefaultRule<number>, Bounds {}

export interface OptionalNumberRule extends OptionRule<number, "optional">, Bounds {}

export type OptionRules = Readonly<Record<string, OptionRule<unknown, OptionPresence>>>;

type ValueOf<Rule> = Rule extends { readonly value?: infer Value } ? Exclude<Value, undefined> : never;
/** Names of the options with this presence. */
type With<Rules, Wanted extends OptionPresence> = {
  [Name in keyof Rules]: Rules[Name] extends { readonly presence: Wanted } ? Name : never;
}[keyof Rules];

/** Mapped without `as`, which would lose the JSDoc of the rules that editors show. */
type ValuesOf<Rules> = { readonly [Name in keyof Rules]: ValueOf<Rules[Name]> };

/** The options as a caller writes them. */
export type OptionsOf<Rules> = ValuesOf<Pick<Rules, With<Rules, "required">>> &
  Partial<ValuesOf<Omit<Rules, With<Rules, "required">>>>;

/** The options as they hold: checked, with defaults in place. */
export type Resolved<Rules> = ValuesOf<Omit<Rules, With<Rules, "optional">>> &
  Partial<ValuesOf<Pick<Rules, With<Rules, "optional">>>>;

/** A value that a guard recognises. The type parameter is for what a guard cannot tell, like a function's parameters. */
export function option<Value>(expected: string, accepts: (value: unknown) => boolean): OptionRule<Value, "optional"> {
  return { expected, accepts, presence: "optional" };
}

export function required<Value>(rule: OptionRule<Value, "optional">): OptionRule<Value, "required"> {
  return { ...rule, presence: "required" };
}

export function withDefault<Value>(rule: OptionRule<Value, "optional">, value: Value): DefaultRule<Value> {
  return { ...rule, presence: "default", default: value };
}

/** Without `max` the greatest is `Number.MAX_SAFE_INTEGER`. */
type NumberOptions = Pick<Bounds, "min"> & Partial<Bounds>;

export function wholeNumber(options: NumberOptions & { readonly default: number }): NumberRule;
export function wholeNumber(options: NumberOptions): OptionalNumberRule;
export function wholeNumber({
  min,
  max = Number.MAX_SAFE_INTEGER,
  default: value,
}: NumberOptions & { readonly default?: number }): NumberRule | OptionalNumberRule {
  const rule: OptionalNumberRule = {
    expected:
      max === Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`,
    accepts: (given) => Number.isSafeInteger(given) && (given as number) >= min && (given as number) <= max,
    presence: "optional",
    min,
    max,
  };
  return value === undefined ? rule : { ...rule, presence: "default", default: value };
}

/** For bounds that may be left off. */
export function wholeNumberOrInfinity({
  min,
  default: value,
}: Pick<Bounds, "min"> & { readonly default: number }): DefaultRule<number> {
  const rule = option<number>(
    `a whole number of at least ${min}, or Infinity`,
    (given) => given === Number.POSITIVE_INFINITY || (Number.isSafeInteger(given) && (given as number) >= min),
  );
  return withDefault(rule, value);
}

export function oneOf<const Value extends string>(values: readonly Value[]): OptionRule<Value, "optional"> {
  const quoted = values.map((value) => `"${value}"`);
  const expected = [quoted.slice(0, -1).join(", "), quoted.at(-1)].filter((part) => part !== "").join(" or ");
  return option(expected, (given) => values.some((value) => value === given));
}

export function text({
  minLength = 1,
  maxLength = Number.MAX_SAFE_INTEGER,
  expected = "a non-empty string",
}: {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly expected?: string;
} = {}): OptionRule<string, "optional"> {
  return option(
    expected,
    (given) => typeof given === "string" && given.length >= minLength && given.length <= maxLength,
  );
}

/** A text of more than white space. */
export function words(expected = "a non-blank string"): OptionRule<string, "optional"> {
  return option(expected, (given) => typeof given === "string" && given.trim() !== "");
}

export function flag(): OptionRule<boolean, "optional"> {
  return option("true or false", (given) => typeof given === "boolean");
}

/** A function: that it takes and gives what its type says cannot be checked. */
export function callback<Callback>(expected = "a function"): OptionRule<Callback, "optional"> {
  return option(expected, (given) => typeof given === "function");
}

/** An object whose fields are checked by the code that knows them. */
export function object<Value extends object>(expected = "an object"): OptionRule<Value, "optional"> {
  return option(expected, (given) => typeof given === "object" && given !== null && !Array.isArray(given));
}

export function array<Item>(expected = "an array"): OptionRule<readonly Item[], "optional"> {
  return option(expected, Array.isArray);
}

export function abortSignal(): OptionRule<AbortSignal, "optional"> {
  return option("an AbortSignal", (given) => given instanceof AbortSignal);
}

/** How errors name an options object and its options. */
export interface OptionPlace {
  /** The object itself: `createRuntime(options)`. */
  readonly object: string;
  /** Before the name of an option that does not exist: `createRuntime`. */
  readonly subject: string;
  /** One option: `createRuntime({ limits })`. */
  readonly at: (name: string) => string;
}

/** The options of a function. */
function placeOf(subject: string): OptionPlace {
  return { object: `${subject}(options)`, subject, at: (name) => `${subject}({ ${name} })` };
}

/** The fields of a document: `task.answer`. */
export function fieldsOf(name: string): OptionPlace {
  return { object: name, subject: name, at: (field) => `${name}.${field}` };
}

/** The options inside an option: `createRuntime({ limits: { calls } })`. */
export function optionsIn(place: OptionPlace | string, name: string): OptionPlace {
  const outer = typeof place === "string" ? placeOf(place) : place;
  const subject = outer.at(name);
  return { object: subject, subject, at: (inner) => outer.at(`${name}: { ${inner} }`) };
}

/**
 * Checks options against their rules and puts defaults in place. `place` is what was called, like `createRuntime`, or
 * where the options stand. Throws `option_invalid` for what is no object, for an option without a rule, with the name
 * that may have been meant, for a required option that is missing, and for a value that its rule does not accept. An
 * option that is `undefined` counts as left out.
 */
export function readOptions<Rules extends OptionRules>(
  place: OptionPlace | string,
  options: unknown,
  rules: Rules,
): Resolved<Rules> {
  return { ...defaultsOf(rules), ...checkOptions(place, options, rules) } as unknown as Resolved<Rules>;
}

/** The same without defaults: the options that were given. */
export function checkOptions<Rules extends OptionRules>(
  place: OptionPlace | string,
  options: unknown,
  rules: Rules,
): OptionsOf<Rules> {
  const { object: whole, subject, at } = typeof place === "string" ? placeOf(place) : place;
  if (typeof options !== "object" || options === null) throw optionError(whole, "an object", options);
  refuseUnknownNames(subject, options, Object.keys(rules));
  const checked: Record<string, unknown> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const given = (options as Readonly<Record<string, unknown>>)[name];
    if (given === undefined && rule.presence !== "required") continue;
    checkValue(at(name), given, rule);
    checked[name] = given;
  }
  return checked as OptionsOf<Rules>;
}

/** Throws `option_invalid` where a rule does not accept a value. `label` is the option as its reader wrote it, like `--max-turns`. */
export function checkValue(label: string, value: unknown, rule: OptionRule<unknown, OptionPresence>): void {
  if (!rule.accepts(value)) throw optionError(label, rule.expected, value);
}

/** The values that hold where nothing is said. */
export function defaultsOf<Rules extends OptionRules>(
  rules: Rules,
): { readonly [Name in With<Rules, "default">]: ValueOf<Rules[Name]> } {
  const defaults = Object.entries(rules).filter(([, { presence }]) => presence === "default");
  return Object.freeze(Object.fromEntries(defaults.map(([name, rule]) => [name, rule.default]))) as never;
}

/** Throws `option_invalid` for a name that is none of those that there are, with the one that may have been meant. */
export function refuseUnknownNames(subject: string, options: object, names: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const [meant] = nearest(unknown, names, 1);
  throw new PortcullisError(
    "option_invalid",
    `${subject}: there is no option ${JSON.stringify(unknown)}${meant === undefined ? "." : `, did you mean ${meant}?`} The options are ${names.join(", ")}.`,
  );
}
