import { measure } from "./json-scanner.ts";

/** What was seen of a JSON text. */
export interface JsonLook {
  /** An upper bound of its values. */
  readonly values: number;
  /** As `resultType` has it of the value. */
  readonly type: string;
}

/** A text that was checked: it is plain JSON. It stands for its value where only the text of that is needed. */
export class JsonText implements JsonLook {
  readonly text: string;
  readonly values: number;
  readonly type: string;
  // oxlint-disable-next-line no-unused-private-class-members -- `in` asks for it
  readonly #isOwn = true;

  /** Asks nothing of a value of others, which may be a proxy. */
  static [Symbol.hasInstance](value: unknown): value is JsonText {
    return typeof value === "object" && value !== null && #isOwn in value;
  }

  constructor(text: string, { values, type }: JsonLook) {
    this.text = text;
    this.values = values;
    this.type = type;
  }

  get isStructure(): boolean {
    return this.type === "object" || this.type.startsWith("array ");
  }
}

/** JSON text of a value; undefined for a value that has none. Whatever the value's own code throws is ignored. */
export function jsonTextOf(value: unknown): string | undefined {
  if (value instanceof JsonText) return value.text;
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** The value of a JSON text; the text itself if it is no JSON, as a model or a journal from elsewhere may write it. */
export function jsonOrText(text: string): unknown {
  const value = parsedJson(text);
  return value === undefined ? text : value;
}

/** Length from which a text is measured before it is parsed, in UTF-16 code units, and values that it may have then. */
const [MEASURED_LENGTH, MOST_VALUES] = [4 * 1024 * 1024, 2 ** 24];

/**
 * The value of a JSON text; undefined if it is no JSON. A large text is measured first, unless that was done: with so many
 * values or very long names that parsing it would take minutes, it has none.
 */
export function parsedJson(text: string, isMeasured = false): unknown {
  if (!isMeasured && text.length > MEASURED_LENGTH && measure(text).values > MOST_VALUES) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
