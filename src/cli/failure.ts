import { describe, type ErrorCode, PortcullisError } from "../base/index.ts";
import { EXIT } from "./exit-code.ts";
import { oneLine } from "./terminal/one-line.ts";

/** Ends a command without a result: the sentence to print, and the exit code. */
export class Failure extends Error {
  readonly exitCode: number;
  /** Lines to print after the sentence, such as a stack. Foreign text. */
  readonly details: string;

  constructor(
    exitCode: number,
    message: string,
    options: { readonly cause?: unknown; readonly details?: string } = {},
  ) {
    super(message, options);
    this.exitCode = exitCode;
    this.details = options.details ?? "";
  }
}

/** Ends a command that was not given what it needs. */
export class UsageFailure extends Failure {
  constructor(message: string, options?: ConstructorParameters<typeof Failure>[2]) {
    super(EXIT.usage, message, options);
  }
}

/** Codes of errors about this machine, the tools or the journal, not about the command's options. */
const ENVIRONMENT: ReadonlySet<string> = new Set<ErrorCode>([
  "sandbox_unavailable",
  "model_unavailable",
  "source_unavailable",
  "door_unavailable",
  "journal_version",
  "journal_locked",
  "journal_unavailable",
  "journal_full",
  "journal_corrupt",
  "journal_read_only",
  "execution_driven",
  "tools_changed",
  "head_moved",
]);

export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (PortcullisError.is(error))
    return new Failure(ENVIRONMENT.has(error.code) ? EXIT.environment : EXIT.usage, error.message);
  return strayFailure(reasonOf(error), error);
}

/** A failure that neither a program nor an option caused: an error in the code of the tools, or of this package. */
export function strayFailure(reason: string, cause?: unknown): Failure {
  return new Failure(EXIT.environment, `The tools, or Portcullis itself, failed: ${reason}`, {
    cause,
    details: framesOf(cause),
  });
}

/** Maximum number of frames that are printed of a stray error. */
const FRAMES = 10;

/** Where an error was thrown: the first frames of its stack that are not node's. */
export function framesOf(thrown: unknown): string {
  try {
    const lines = thrown instanceof Error ? (thrown.stack ?? "").split("\n") : [];
    return lines
      .filter((line) => line.startsWith("    at ") && !line.includes("node:"))
      .slice(0, FRAMES)
      .join("\n");
  } catch {
    // The getters of the error may throw.
    return "";
  }
}

/** Describes a thrown value in one line for a terminal. The value may be anything, and its getters may throw. */
export function reasonOf(thrown: unknown): string {
  try {
    if (PortcullisError.is(thrown)) return oneLine(thrown.message);
    const text = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `${describe(thrown)} was thrown.`;
    return oneLine(text);
  } catch {
    return "a value was thrown that cannot be shown.";
  }
}

/** The reason alone, as part of a sentence: without the kind of the error, and without a full stop. */
export function causeOf(thrown: unknown): string {
  return reasonOf(thrown)
    .replace(/^\w*Error: /, "")
    .replace(/\.$/, "");
}
