import { describe, describeSecret, optionError, PortcullisError } from "../errors.ts";
import { type CallbackKind, guardCallback } from "./callbacks.ts";
import { orMeant } from "./nearest.ts";
import { isFields } from "../values/fields.ts";

/** Whether an option must be given, may be left out, or has a default. */
export type OptionPresence = "required" | "optional" | "default";

/**
 * The rule of an option. Types, checks and defaults are derived from the rules of an options object, so an option exists
 * as soon as it has a rule. The JSDoc of a rule documents the option: editors show it, and `make options` writes it to
 * docs/options.md.
 */
export interface OptionRule<Value, Presence extends OptionPresence> {
  /** The expected value, for the error message: `a whole number from 1 to 100`. */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  readonly presence: Presence;
  /** A sentence for a value that is refused: what to write in its place. */
  readonly advice?: (value: unknown) => string | undefined;
  /** Whether its value is secret, or may have secrets in it: errors show its type and its length, and nothing else. */
  readonly isSecret?: true;
  /** Of functions: what becomes of their errors. */
  readonly guard?: (name: string, value: unknown) => unknown;
  /** Value of an option that is left out. */
  readonly default?: Value;
  /** Carries the type; never set. */
  readonly value?: Value;
}

export interface DefaultRule<Value> extends OptionRule<Value, "default"> {
  readonly default: Value;
}

/** An inclusive range. */
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

/** Mapped without `as`, which would lose the JSDoc of the rules. */
type ValuesOf<Rules> = { readonly [Name in keyof Rules]: ValueOf<Rules[Name]> };

/** The options as a caller writes them. */
export type OptionsOf<Rules> = ValuesOf<Pick<Rules, With<Rules, "required">>> &
  Partial<ValuesOf<Omit<Rules, With<Rules, "required">>>>;

/** The options after checks, with defaults filled in. */
export type CheckedOptions<Rules> = ValuesOf<Omit<Rules, With<Rules, "optional">>> &
  Partial<ValuesOf<Pick<Rules, With<Rules, "optional">>>>;

/** A rule with a guard. The type parameter states what the guard cannot check, like a function's parameters. */
export function option<Value>(expected: string, accepts: (value: unknown) => boolean): OptionRule<Value, "optional"> {
  return { expected, accepts, presence: "optional" };
}

/** A rule with advice for refused values: what to write in their place. */
export function withAdvice<Rule extends OptionRule<unknown, OptionPresence>>(
  rule: Rule,
  advice: (value: unknown) => string | undefined,
): Rule {
  return { ...rule, advice };
}

/** A rule whose value no error shows: a token, a key, a password, or an object that has some. */
export function secret<Rule extends OptionRule<unknown, OptionPresence>>(
  rule: Rule,
): Rule & { readonly isSecret: true } {
  return { ...rule, isSecret: true };
}

/** Some of these rules. Types that are made of them keep the JSDoc. */
export function pick<Rules, Name extends keyof Rules>(rules: Rules, ...names: readonly Name[]): Pick<Rules, Name> {
  return Object.fromEntries(names.map((name) => [name, rules[name]])) as Pick<Rules, Name>;
}

export function required<Value>(rule: OptionRule<Value, "optional">): OptionRule<Value, "required"> {
  return { ...rule, presence: "required" };
}

export function withDefault<Value>(rule: OptionRule<Value, "optional">, value: Value): DefaultRule<Value> {
  return { ...rule, presence: "default", default: value };
}

/** `max` is `Number.MAX_SAFE_INTEGER` by default. */
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
    accepts: (input) => Number.isSafeInteger(input) && (input as number) >= min && (input as number) <= max,
    presence: "optional",
    min,
    max,
  };
  return value === undefined ? rule : { ...rule, presence: "default", default: value };
}

/** For limits that can be switched off. */
export function wholeNumberOrInfinity({
  min,
  default: value,
}: Pick<Bounds, "min"> & { readonly default: number }): DefaultRule<number> {
  const rule = option<number>(
    `a whole number of at least ${min}, or Infinity`,
    (input) => input === Infinity || (Number.isSafeInteger(input) && (input as number) >= min),
  );
  return withDefault(rule, value);
}

export function oneOf<const Value extends string>(values: readonly Value[]): OptionRule<Value, "optional"> {
  const quoted = values.map((value) => `"${value}"`);
  const expected = [quoted.slice(0, -1).join(", "), quoted.at(-1)].filter((part) => part !== "").join(" or ");
  return option(expected, (input) => values.some((value) => value === input));
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
    (value) => typeof value === "string" && value.length >= minLength && value.length <= maxLength,
  );
}

/** A string with more than white space. */
export function words(expected = "a non-blank string"): OptionRule<string, "optional"> {
  return option(expected, (value) => typeof value === "string" && value.trim() !== "");
}

export function flag(): OptionRule<boolean, "optional"> {
  return option("true or false", (value) => typeof value === "boolean");
}

/** A function that is asked for something. Its parameters and its result cannot be checked. If it fails, that has the code `callback_failed`. */
export function callback<Callback>(): OptionRule<Callback, "optional"> {
  return callbackRule(bareFunction());
}

/** A function that is told of something. What it throws is ignored. */
export function listener<Callback>(): OptionRule<Callback, "optional"> {
  return callbackRule(bareFunction(), "told");
}

/** A function that does the work itself, like a handler: its caller says what its errors mean. */
export function bareFunction<Callback>(expected = "a function"): OptionRule<Callback, "optional"> {
  return option(expected, (value) => typeof value === "function");
}

/** A rule whose value may be a function that is asked. */
export function callbackRule<Rule extends OptionRule<unknown, OptionPresence>>(
  rule: Rule,
  kind: CallbackKind = "asked",
): Rule {
  return { ...rule, guard: (name: string, value: unknown) => guardCallback(kind, name, value) };
}

/** An object whose fields are checked elsewhere. */
export function object<Value extends object>(expected = "an object"): OptionRule<Value, "optional"> {
  return option(expected, isFields);
}

export function array<Item>(expected = "an array"): OptionRule<readonly Item[], "optional"> {
  return option(expected, Array.isArray);
}

export function abortSignal(): OptionRule<AbortSignal, "optional"> {
  return option("an AbortSignal", (value) => value instanceof AbortSignal);
}

/** Names of an options object and its options in errors. */
export interface OptionPlace {
  /** The object itself: `createRuntime(options)`. */
  readonly object: string;
  /** Subject of the error about an unknown option: `createRuntime`. */
  readonly subject: string;
  /** One option: `createRuntime({ limits })`. */
  readonly at: (name: string) => string;
}

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
 * Checks options against their rules and fills in defaults. `place` names the function that was called, like
 * `createRuntime`, or the position of the options. Throws `option_invalid` for a value that is not an object, an option
 * without a rule (with the most similar name), a missing required option, and a value that its rule does not accept. An
 * option that is `undefined` counts as left out.
 */
export function readOptions<Rules extends OptionRules>(
  place: OptionPlace | string,
  options: unknown,
  rules: Rules,
): CheckedOptions<Rules> {
  return { ...defaultsOf(rules), ...checkOptions(place, options, rules) } as unknown as CheckedOptions<Rules>;
}

/** Like `readOptions`, without defaults: returns the given options only. */
export function checkOptions<Rules extends OptionRules>(
  place: OptionPlace | string,
  options: unknown,
  rules: Rules,
): OptionsOf<Rules> {
  const { object: whole, subject, at } = typeof place === "string" ? placeOf(place) : place;
  // What stands in the place of the options may be the secret that belongs into them.
  const tell = Object.values(rules).some(({ isSecret }) => isSecret) ? describeSecret : describe;
  if (!isFields(options) || options instanceof Promise) throw optionError(whole, "an object", options, tell);
  refuseUnknownNames(subject, options, Object.keys(rules));
  const checked: Record<string, unknown> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const value = options[name];
    if (value === undefined && rule.presence !== "required") continue;
    checkValue(at(name), value, rule);
    checked[name] = rule.guard ? rule.guard(name, value) : value;
  }
  return checked as OptionsOf<Rules>;
}

/** Throws `option_invalid` if the rule does not accept the value. `label` is the option as the reader wrote it, like `--repeat`. */
export function checkValue(label: string, value: unknown, rule: OptionRule<unknown, OptionPresence>): void {
  if (rule.accepts(value)) return;
  const error = optionError(label, rule.expected, value, rule.isSecret ? describeSecret : describe);
  const advice = rule.advice?.(value);
  throw advice === undefined ? error : new PortcullisError(error.code, `${error.message} ${advice}`);
}

export function defaultsOf<Rules extends OptionRules>(
  rules: Rules,
): { readonly [Name in With<Rules, "default">]: ValueOf<Rules[Name]> } {
  const defaults = Object.entries(rules).filter(([, { presence }]) => presence === "default");
  return Object.freeze(Object.fromEntries(defaults.map(([name, rule]) => [name, rule.default]))) as never;
}

/** Throws `option_invalid` for an unknown name, with the most similar known name. */
function refuseUnknownNames(subject: string, options: object, names: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new PortcullisError(
    "option_invalid",
    `${subject}: there is no option ${JSON.stringify(unknown)}${orMeant(unknown, names)} The options are ${names.join(", ")}.`,
  );
}

/** The fields that have a value: options may be missing, but not `undefined`. */
type Defined<Fields> = {
  readonly [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & {
  readonly [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
};

/** Leaves out the fields that are `undefined`. */
export function withoutUndefined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>;
}
