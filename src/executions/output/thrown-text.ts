import { inspect } from "node:util";
import { PortcullisError } from "../../base/index.ts";

/** An error may hold a whole response. */
const SHORT = { depth: 3, maxArrayLength: 20, maxStringLength: 10_000 };

/**
 * What was thrown, for the operator. An error of this package, like a handler's `tool_failed`, is a known failure: its
 * sentence is shown, and its stack would not help. Any other value is shown as node shows it, with its stack.
 */
export function thrownText(thrown: unknown): string {
  try {
    if (PortcullisError.is(thrown))
      return [`${thrown.code}: ${thrown.message}`, ...causeLines(thrown.cause)].join("\n");
    return inspect(thrown, SHORT);
  } catch {
    return "A value was thrown that cannot be shown.";
  }
}

function causeLines(cause: unknown): readonly string[] {
  if (cause === undefined) return [];
  return [`caused by ${cause instanceof Error ? `${cause.name}: ${cause.message}` : inspect(cause, SHORT)}`];
}
