import { jsonTextOf } from "./values/json/json-text.ts";

/**
 * Codes of all errors that this package throws on purpose. They report mistakes of the host's developer, and a machine
 * that cannot do what was asked. Refusals and failures of calls, and the endings of executions, are values and never
 * thrown.
 */
export const ERROR_CODES = {
  option_invalid: "An option has an invalid value. The message names the option, the expected value and the given one.",
  callback_failed:
    "A function that the host gave, like `approve`, `policy` or `stopWhen`, threw or rejected. The message names it, and `cause` has its error. It decides nothing.",
  tool_invalid: "A tool definition is invalid. The message names the tool, the field and the fix.",
  tool_failed: "Thrown by a handler. Its message tells the program why the tool failed.",
  source_unavailable:
    "A source of tools cannot be reached, its answers are invalid, or its library is missing. Thrown when a source is made, and by the handlers of its tools; the program gets the message.",
  door_unavailable:
    "A server for clients cannot be opened: its library is missing, or its address cannot be listened on. The message says which.",
  source_invalid:
    "A description of tools cannot be read. The message says what it is instead, or what is wrong with it.",
  result_too_large: "Thrown by a handler that gave up a result because it exceeds `resultBytes` of its context.",
  stream_failed:
    "The stream of a call that the host made (`runtime.call`) ended before its last item. The message is for the caller, and `cause` has the code of the failure.",
  stream_misused: "The items of a call (`runtime.call`) were to be read a second time. They can be read once.",
  tools_conflict: "The names of two tools in one set conflict.",
  sandbox_unavailable: "The sandbox cannot run on this machine. The message says what is missing.",
  queue_full:
    "Too many programs wait for an engine, or one has waited for too long. `execute` reports it as an ending; `replay` rejects with it, and so does `resume`, which leaves the execution as it is.",
  busy: "As many executions run as the runtime allows, and as many wait (`createRuntime({ executions })`), or those that are open fill a journal in memory. Nothing was started: try again later.",
  program_too_large: "The text that was submitted is larger than a program may be. Nothing was stored.",
  program_failed:
    "A program that another package's loop ran with `run_program` did not complete. The message is what the model reads, and `cause` the outcome.",
  program_not_run:
    "A program of another package's loop could not be run, for a reason of the host's. `cause` has the reason, and the model does not receive it.",
  model_unavailable: "A model cannot be called: its key or its SDK is missing. The message says which.",
  runtime_closed: "The runtime was closed and takes no further programs.",
  runtime_suspended:
    "The runtime was suspended: the execution stays open in the journal, and continues when it is resumed (`recover`, `resume`).",
  webhook_failed: "An event could not be delivered to a webhook of the server. The message says which, and why.",
  key_revoked: "The key of a server's client was revoked or changed, or has expired. What it had under way was ended.",
  execution_unknown: "The journal holds no execution with this id.",
  execution_open:
    "The execution has not ended, so no program can continue from what it has done (`corrects`). Resume it or cancel it first.",
  execution_exists: "The journal already holds an execution with this id.",
  journal_invalid: "The records of an execution are invalid. The message names the first invalid record.",
  journal_version: "The journal was written in another format. The message says which version reads it.",
  queue_unavailable:
    "The queue of a fleet cannot be used: its package is missing, or its tables cannot be made. The message says which.",
  journal_locked: "Another process has kept the journal locked for too long. Nothing was written.",
  journal_unavailable:
    "The database or the disk of the journal cannot be reached, refuses, or has taken too long. Nothing is half done.",
  journal_full: "The journal's disk is full. Nothing was written.",
  journal_corrupt: "The journal's file is damaged. The message says what is wrong.",
  journal_gone: "The journal's file was deleted or replaced while it was open. Nothing was written.",
  journal_read_only: "The journal's file cannot be written. The message says why.",
  execution_driven: "Another process drives this execution. The message says until when its lease lasts.",
  call_unknown: "The execution has no such open call, or the call does not wait for what was given.",
  approval_expired:
    "The call has waited for longer than its execution allows (limit `waitMs`), and takes no decision or result any more.",
  call_open: "Calls of the conversation's last turn have no answer yet. The message says how to continue.",
  conversation_busy: "Something of this conversation is under way already. Wait for it, or interrupt it.",
  conversation_interrupted:
    "What was under way was interrupted: `signal.reason` of its handlers. Send a message to continue.",
  conversation_ended:
    "The conversation has ended, was disposed of or left, and takes nothing more. It can be continued from the journal.",
  conversation_moved: "The conversation has other messages of the user than were expected. Nothing was said.",
  decision_exists: "The call was decided or answered already. The message says by whom.",
  tools_changed:
    "Tools of an execution are gone or changed since it began. The message names them, but not over HTTP: a key may not have them.",
  journal_redacted:
    "The journal does not hold what happened, because it was redacted: the conversation cannot be resumed. Or it would not hold what a program is to be run or given from: nothing was noted.",
  head_moved: "Another driver has appended to this execution's journal, so this driver no longer owns the execution.",
};

export type ErrorCode = keyof typeof ERROR_CODES;

/** What ends the messages of errors with these codes: the call that says more. A door has its own way in its place. */
export const REMEDIES = {
  execution_unknown: "List what it holds, and of whom, with: runtime.executions.list()",
  call_unknown: "Look at its calls, and at what it waits for, with: runtime.execution(id).status()",
} as const satisfies Partial<Record<ErrorCode, string>>;

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

  /** Whether a value is a `PortcullisError`, of this or another copy of the package. */
  static is(value: unknown): value is PortcullisError {
    try {
      return typeof value === "object" && value !== null && BRAND in value;
    } catch {
      // A revoked proxy.
      return false;
    }
  }
}

/** Whether an error is a `PortcullisError` with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): error is PortcullisError {
  return PortcullisError.is(error) && codes.includes(error.code);
}

/** The message of what was thrown, which may be anything. */
export function thrownMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Does nothing, with what may be ignored. */
export const ignore = (): void => {};

/** What a source throws of requests that it refused, so that they have changed nothing, by the place of its tools: a handler that throws it of another tool may have done more. */
export const REFUSED_BY_SOURCE = new WeakMap<WeakKey, string>();

/** Loads a package that not every host needs. Rejects with a `PortcullisError` with this message if it is missing. */
export async function loadPackage<Package>(
  code: ErrorCode,
  message: string,
  load: () => Promise<Package>,
): Promise<Package> {
  try {
    return await load();
  } catch (cause) {
    throw new PortcullisError(code, message, { cause });
  }
}

/** An `option_invalid` error that names the option, the expected value and the given one, in the words of `tell`. */
export function optionError(option: string, expected: string, got: unknown, tell = describe): PortcullisError {
  return new PortcullisError("option_invalid", `${option}: expected ${expected}, got ${tell(got)}.`);
}

/** An error of this package with a place before its message; any other error as it is. */
export function errorAt(place: string, error: unknown): unknown {
  return PortcullisError.is(error)
    ? new PortcullisError(error.code, `${place}: ${error.message}`, { cause: error })
    : error;
}

/** Describes a value for a message: as JSON if short, else by its type. */
export function describe(value: unknown): string {
  if (typeof value === "string")
    return value.length <= 60 ? JSON.stringify(value) : `a string of ${value.length} characters`;
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Promise) return "a promise";
  const text = jsonTextOf(value);
  if (text !== undefined && text.length <= 60) return text;
  return Array.isArray(value) ? `an array of ${value.length}` : "an object";
}

/** Describes a value that is secret, or has secrets: by its type, and by the length of a text or a list. */
export function describeSecret(value: unknown): string {
  if (typeof value === "string") return `a string of ${value.length} character${value.length === 1 ? "" : "s"}`;
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  return value === undefined || value === null ? String(value) : `a ${typeof value}`;
}

/**
 * Id of an execution or a conversation: opaque text. It is the key of the journal's records, and the name used in
 * reports, events and calls.
 */
export type ExecutionId = string;
