/** Notation of a schema's types in one language. */
export interface TypeNotation {
  readonly unknown: string;
  readonly never: string;
  readonly string: string;
  readonly number: string;
  readonly integer: string;
  readonly boolean: string;
  readonly null: string;
  /** Types of values that are nested too deeply to be written out. */
  readonly deepObject: string;
  readonly deepArray: string;
  /** An object with unknown fields. */
  readonly anyObject: string;
  readonly emptyObject: string;
  /** Whether a union or intersection needs brackets in `arrayOf`. */
  readonly bracketsInArrays: boolean;
  readonly arrayOf: (element: string) => string;
  /** `rest` is the type of further elements. */
  readonly tupleOf: (elements: readonly string[], rest?: string) => string;
  /** Without `keys` they are any texts; a record has all of them if `isWhole`. */
  readonly recordOf: (value: string, keys?: string, isWhole?: boolean) => string;
  readonly fields: (fields: readonly Field[]) => string;
  /** An enumeration: the values shown, and the number of values left out. */
  readonly literals: (values: readonly unknown[], text: (value: unknown) => string, more: number) => readonly string[];
}

export interface Field {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  /** The description as a comment with a space before it, or an empty string. */
  readonly comment: string;
}

/** TypeScript, on one line. */
export const TYPESCRIPT: TypeNotation = {
  unknown: "unknown",
  never: "never",
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  null: "null",
  deepObject: "object",
  deepArray: "unknown[]",
  anyObject: "Record<string, unknown>",
  emptyObject: "{}",
  bracketsInArrays: true,
  arrayOf: (element) => `${element}[]`,
  tupleOf: (elements, rest) => `[${[...elements, ...(rest === undefined ? [] : [`...${rest}[]`])].join(", ")}]`,
  recordOf: (value, keys = "string", isWhole = true) =>
    isWhole ? `Record<${keys}, ${value}>` : `Partial<Record<${keys}, ${value}>>`,
  fields: (fields) =>
    `{ ${fields
      .map(({ name, type, required, comment }) => {
        const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
        return `${key}${required ? "" : "?"}: ${type}${comment}`;
      })
      .join(", ")} }`,
  literals: (values, text, more) =>
    values.map((value, place) =>
      more > 0 && place === values.length - 1 ? `${text(value)} /* and ${more} more */` : text(value),
    ),
};

const PYTHON_WORDS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [null, "None"],
  [true, "True"],
  [false, "False"],
]);

/** Python's types. Objects are written like a dict instead of a class, so that they need no names. */
export const PYTHON: TypeNotation = {
  unknown: "Any",
  never: "Never",
  string: "str",
  number: "float",
  integer: "int",
  boolean: "bool",
  null: "None",
  deepObject: "dict",
  deepArray: "list",
  anyObject: "dict[str, Any]",
  emptyObject: "{}",
  bracketsInArrays: false,
  arrayOf: (element) => `list[${element}]`,
  tupleOf: (elements, rest) =>
    `tuple[${[...elements, ...(rest === undefined ? [] : [`*tuple[${rest}, ...]`])].join(", ")}]`,
  recordOf: (value, keys = "str") => `dict[${keys}, ${value}]`,
  fields: (fields) =>
    `{${fields
      .map(
        ({ name, type, required, comment }) =>
          `${JSON.stringify(name)}: ${required ? type : `NotRequired[${type}]`}${comment}`,
      )
      .join(", ")}}`,
  literals: (values, text, more) => [
    `Literal[${[...values.map((value) => PYTHON_WORDS.get(value) ?? text(value)), ...(more > 0 ? ["..."] : [])].join(", ")}]`,
  ],
};
