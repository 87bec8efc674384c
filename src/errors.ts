/**
 * The codes of all errors that this package throws on purpose. They report mistakes of the host's developer and machines
 * that lack a requirement. Refusals and failures of calls, and the endings of executions, are values and never thrown.
 */
export const ERROR_CODES = {
  option_invalid: "An option has an invalid value. The message names the option, what was expected and what was given.",
  tool_invalid: "A tool definition is invalid. The message names the tool, the field and the fix.",
  tool_failed: "Thrown by a handler: its message tells the program why the tool could not do what was asked.",
  tools_conflict: "Two tools cannot be in the same set.",
  sandbox_unavailable: "The sandbox cannot run on this machine. The message says what is missing.",
  queue_full:
    "The maximum number of programs already waits for an engine. `execute` reports it as an ending; `replay` rejects with it.",
  model_unavailable: "A model cannot be called: its key or its SDK is missing. The message says which.",
  runtime_closed: "The runtime was closed and takes no further programs.",
  execution_unknown: "The journal holds no execution of this id.",
  execution_exists: "The journal holds another execution of this id.",
  journal_invalid: "The given records are not those of an execution. The message names the first invalid one.",
  journal_version: "The journal was written in another format. The message says which version reads it.",
  head_moved: "Another driver has appended to this execution's journal: this driver no longer owns it.",
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Identifies the class across copies of this package. */
const BRAND = Symbol.for("portcullis.error");

/** The only error class of this package. `code` is stable and for code to act on; `message` is for people. */
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

  /** Whether a value is a `PortcullisError` of this or another copy of the package. */
  static is(value: unknown): value is PortcullisError {
    return typeof value === "object" && value !== null && BRAND in value;
  }
}

/** An `option_invalid` error: the option, what was expected, what was given. */
export function optionError(option: string, expected: string, got: unknown): PortcullisError {
  return new PortcullisError("option_invalid", `${option}: expected ${expected}, got ${describe(got)}.`);
}

/** A value for a message: its JSON if that is short, else its type. */
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
