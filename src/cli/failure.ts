import { describe, type ErrorCode, PortcullisError } from "../errors.ts";
import { EXIT } from "./exit-code.ts";
import { oneLine } from "./terminal/one-line.ts";

/** Why the command line ends without a result: a sentence, and the exit code. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Codes of what is missing on this machine. */
const ENVIRONMENT: ReadonlySet<string> = new Set<ErrorCode>(["sandbox_unavailable", "model_unavailable"]);

export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (PortcullisError.is(error))
    return new Failure(ENVIRONMENT.has(error.code) ? EXIT.environment : EXIT.usage, error.message);
  return strayFailure(reasonOf(error), error);
}

/** What neither a program nor an option has done: the tools' own code, or this package's. */
export function strayFailure(reason: string, cause?: unknown): Failure {
  return new Failure(EXIT.environment, `The tools, or Portcullis itself, broke down: ${reason}`, { cause });
}

/** What was thrown, for one line on a terminal. It may be anything, and do anything when it is looked at. */
export function reasonOf(thrown: unknown): string {
  try {
    const text = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `${describe(thrown)} was thrown.`;
    return oneLine(text);
  } catch {
    return "something was thrown that cannot be shown.";
  }
}
