/**
 * Every error that this package throws on purpose, and what each is for. Refusals and failures of tool calls,
 * and the ways an execution can end, are values and never thrown; these are for mistakes of the host's
 * developer and for a machine that cannot do what was asked.
 */
export const ERROR_CODES = {
  option_invalid:
    "An option has a value it cannot have. The message names the option, what was expected and what came.",
  tool_invalid: "A tool definition cannot be used. The message names the tool, the field and the mend.",
  tool_failed: "Thrown by a handler: its message tells the program why the tool could not do what was asked.",
  tools_conflict: "Two tools cannot stand beside each other in one set.",
  sandbox_unavailable: "The sandbox cannot run on this machine. The message says what is missing.",
  queue_full:
    "As many programs wait for an engine as may. `execute` reports it as an ending; `replay` rejects with it.",
  model_unavailable: "A model cannot be asked from here: its key or its SDK is missing. The message says which.",
  runtime_closed: "The runtime was closed and takes no further programs.",
  execution_unknown: "The journal holds no execution of this id.",
  execution_exists: "The journal holds another execution of this id.",
  journal_invalid:
    "What should be the records of an execution is not. The message names the first record that does not fit.",
  journal_version: "The journal was written in another format. The message says which version reads it.",
  head_moved: "Another driver has appended to this execution's journal: this driver no longer owns it.",
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Recognises the class across copies of this package. */
const BRAND = Symbol.for("portcullis.error");

/** The one error class. `code` is stable and meant for programs; `message` is a sentence for a person. */
export class PortcullisError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  override get name(): string {
    return "PortcullisError";
  }

  get [BRAND](): true {
    return true;
  }

  /** Whether a value is a `PortcullisError`, also one of another copy of this package. */
  static is(value: unknown): value is PortcullisError {
    return typeof value === "object" && value !== null && BRAND in value;
  }
}

/** An `option_invalid` error in its one form: the option, what was expected, what came. */
export function optionError(option: string, expected: string, got: unknown): PortcullisError {
  return new PortcullisError("option_invalid", `${option}: expected ${expected}, got ${describe(got)}.`);
}

/** A value for a message: its JSON where that is short, else its type. */
export function describe(value: unknown): string {
  if (typeof value === "string")
    return value.length <= 60 ? JSON.stringify(value) : `a string of ${value.length} characters`;
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  const text = jsonOrNothing(value);
  if (text !== undefined && text.length <= 60) return text;
  return Array.isArray(value) ? `an array of ${value.length}` : "an object";
}

function jsonOrNothing(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
