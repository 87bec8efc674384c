import { Option } from "commander";
import { optionError } from "../base/index.ts";

/** The options of a command: the flags of each, with its description, or with all that is declared of it. */
export type OptionTable = Readonly<Record<string, string | DeclaredOption<unknown>>>;

/** What a command is given of its options. */
export type CommandOptions<Table> = {
  readonly [Flags in keyof Table as NameOf<Flags>]: Table[Flags] extends DeclaredOption<infer Value>
    ? Value
    : Plain<Flags>;
};

/** `maxTurns` for `--max-turns <number>`, `stream` for `--no-stream`. */
type NameOf<Flags> = Flags extends `${infer Flag} <${string}`
  ? NameOf<Flag>
  : Flags extends `--no-${infer Name}`
    ? CamelCase<Name>
    : Flags extends `--${infer Name}`
      ? CamelCase<Name>
      : never;
type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;
/** An option that has only a description is a text or a switch. */
type Plain<Flags> = Flags extends `${string} <${string}`
  ? string | undefined
  : Flags extends `--no-${string}`
    ? boolean
    : boolean | undefined;

/** Reads the text of a value. Throws `option_invalid`, naming the flag. */
export type OptionReader<Value> = (flag: string, text: string) => Value;

/** An option with a rule for its value. */
export interface DeclaredOption<Value> {
  readonly description: string;
  readonly apply: (option: Option) => Option;
  /** Carries the type; never set. */
  readonly value?: Value;
}

/** An option whose value is read. */
export function reading<Value>(description: string, read: OptionReader<Value>): DeclaredOption<Value | undefined> {
  return { description, apply: (option) => readBy(option, read) };
}

/** A script passes an empty text for a variable that is not set. */
const notEmpty: OptionReader<string> = (flag, text) => {
  if (text.trim() === "") throw optionError(flag, "a value that is not empty", text);
  return text;
};

/** An option with a default, which the help tells. */
export function defaulting<Value>(
  description: string,
  value: Value,
  read?: OptionReader<Value>,
): DeclaredOption<Value> {
  return { description, apply: (option) => readBy(option, read).default(value) };
}

/** An option that has to be given. */
export function mandatory<Value = string>(description: string, read?: OptionReader<Value>): DeclaredOption<Value> {
  return { description, apply: (option) => readBy(option, read ?? notEmpty).makeOptionMandatory() };
}

function readBy(option: Option, read: OptionReader<unknown> | undefined): Option {
  return read ? option.argParser((text) => read(option.long!, text)) : option;
}

/** An option that may be given several times. `add` gives all that has been read, with one more text. */
export function collecting<Value>(
  description: string,
  none: Value,
  add: (flag: string, text: string, before: Value) => Value,
): DeclaredOption<Value> {
  return {
    description,
    apply: (option) => option.argParser<Value>((text, before) => add(option.long!, text, before)).default(none),
  };
}

/** A list of what is read, or of the texts. */
export function repeatable<Value = string>(
  description: string,
  read?: OptionReader<Value>,
): DeclaredOption<readonly Value[]> {
  const readOne = read ?? (notEmpty as OptionReader<Value>);
  return collecting<readonly Value[]>(description, [], (flag, text, before) => [...before, readOne(flag, text)]);
}

/** The options of a table, for commander. */
export function optionsOf(table: OptionTable): readonly Option[] {
  return Object.entries(table).map(([flags, declared]) =>
    typeof declared === "string"
      ? readBy(new Option(flags, declared), flags.includes("<") ? notEmpty : undefined)
      : declared.apply(new Option(flags, declared.description)),
  );
}
