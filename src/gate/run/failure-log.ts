import { cutMiddle, guardCallback, hasCode, isAnyObject, option, type OptionRule } from "../../base/index.ts";
import type { CallEvent } from "../call-event.ts";

/** A call that failed or went wrong. Its program or model was told at most a sentence about the cause. */
export interface FailureEntry {
  readonly tool: string;
  /** Id of the execution or conversation that made the call; empty, like `callId`, for a tool whose `enabled` failed. */
  readonly execution: string;
  readonly callId: string;
  /**
   * Code of the failure or refusal, as the program has it. `"value"` or `"aborted"` if the call ended so, though
   * something beside it went wrong; `"waiting"` if its approver failed and it waits for a decision. `"not_enabled"` for a tool that does not exist because its `enabled` failed;
   * `"tools_conflict"` for a new tool that is left out because of its name;
   * `"parts_unread"` for a reply of a model with parts of kinds that are not read; `"inputs_changed"` where a model is told of inputs otherwise.
   */
  readonly code: string;
  /** What the handler threw, or what was wrong with its result. pino writes it with its stack. */
  readonly err?: unknown;
}

/** pino, console, or any object with `error`. What its methods throw is ignored. */
export interface Logger {
  readonly error: (entry: FailureEntry, message: string) => void;
  /** For failures whose cause the program was told: a handler's `tool_failed`, a time limit. `error` gets them if it is missing. */
  readonly warn?: ((entry: FailureEntry, message: string) => void) | undefined;
}

export const LOGGER: OptionRule<Logger, "optional"> = {
  ...option<Logger>("a logger with a method error, like pino or console", isLogger),
  guard: (name, logger) => {
    const { error, warn } = logger as Logger;
    const guard = (method: Logger["error"]) => guardCallback("told", name, method, logger as Logger);
    return { error: guard(error), ...(warn && { warn: guard(warn) }) };
  },
};

/** Entries for one execution, with everything that it starts. A program may make thousands of calls that fail. */
const MAX_ENTRIES = 20;
const VERBS = {
  refused: "was refused",
  failed: "failed",
  value: "returned",
  aborted: "was aborted",
  waiting: "waits for a decision",
};
/** Bytes of an error's message in an entry's: it may quote a whole response. */
const MESSAGE_BYTES = 4096;

/** Writes one entry for each call of an execution whose handler, approver or `approval` function failed, up to `MAX_ENTRIES`, and then the number of the others. */
export function failureLog(logger: Logger) {
  let entries = 0;
  let last: FailureEntry | undefined;
  return {
    take(event: CallEvent): void {
      if (event.type !== "call_ended" && event.type !== "call_undecided") return;
      const { execution, callId, tool, error } = event;
      const outcome = event.type === "call_ended" ? event.outcome : ({ type: "waiting" } as const);
      if (outcome.type !== "failed" && error === undefined) return;
      entries += 1;
      const code = "code" in outcome ? outcome.code : outcome.type;
      last = { tool, execution, callId, code, ...(error !== undefined && { err: error }) };
      if (entries > MAX_ENTRIES) return;
      const what = `${tool} ${VERBS[outcome.type]} in call ${callId}${"code" in outcome ? `, ${code}` : ""}`;
      const message = `${what}${messageOf(error)}`;
      if (isTold(error) && logger.warn) logger.warn(last, message);
      else logger.error(last, message);
    },

    end(): void {
      const more = entries - MAX_ENTRIES;
      if (more <= 0 || !last) return;
      const { err: _, ...about } = last;
      logger.error(about, `${more} more calls failed and have no entry of their own; the last was of ${last.tool}`);
    },
  };
}

/** The message of an error, behind a colon. The message may be no text, and its getter may throw. */
function messageOf(error: unknown): string {
  try {
    if (!(error instanceof Error)) return "";
    const { message } = error as { readonly message: unknown };
    return `: ${cutMiddle(String(message), MESSAGE_BYTES)}`;
  } catch {
    return "";
  }
}

function isTold(error: unknown): boolean {
  return error === undefined || (hasCode(error, "tool_failed") && (error as Error).cause === undefined);
}

function isLogger(value: unknown): boolean {
  if (!isAnyObject(value)) return false;
  const { error, warn } = value as Partial<Logger>;
  return typeof error === "function" && (warn === undefined || typeof warn === "function");
}
