import type { AgentEnding } from "../conversations/event.ts";
import type { Report } from "../executions/output/index.ts";
import { describe, type ErrorCode, PortcullisError } from "../base/index.ts";
import { oneLine } from "./terminal/standard-streams.ts";
import { writeSync } from "node:fs";

export const EXIT = {
  completed: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  stopped: 4,
  environment: 5,
  waiting: 6,
  hungUp: 129,
  cancelled: 130,
  terminated: 143,
} as const;

const OF_END: Readonly<Record<Exclude<Report["outcome"]["type"], "failed"> | AgentEnding["type"], number>> = {
  completed: EXIT.completed,
  answered: EXIT.completed,
  refused: EXIT.refused,
  stopped: EXIT.stopped,
  turns_spent: EXIT.stopped,
  tokens_spent: EXIT.stopped,
  cut_off: EXIT.stopped,
  stuck: EXIT.stopped,
  answer_invalid: EXIT.stopped,
  crashed: EXIT.environment,
  provider_failed: EXIT.environment,
  waiting: EXIT.waiting,
  cancelled: EXIT.cancelled,
};

export function exitCodeOf({ outcome, usage, calls }: Report): number {
  if (outcome.type !== "failed") return OF_END[outcome.type];
  const { code = "" } = outcome.fault;
  // The program chooses the code of the error that it throws: a refusal by the host is one that the report has too.
  const isRefused =
    usage.turns === 0
      ? /^programs?_/.test(code)
      : calls.some((call) => call.outcome.type === "refused" && call.outcome.code === code);
  return isRefused ? EXIT.refused : EXIT.failed;
}

export function agentExitCodeOf({ type }: AgentEnding): number {
  return OF_END[type];
}

/** Ends a command without a result: the sentence to print, and the exit code. */
export class CommandFailure extends Error {
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
export class UsageFailure extends CommandFailure {
  constructor(message: string, options?: ConstructorParameters<typeof CommandFailure>[2]) {
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

export function failureOf(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (PortcullisError.is(error))
    return new CommandFailure(ENVIRONMENT.has(error.code) ? EXIT.environment : EXIT.usage, error.message);
  return strayFailure(failureLine(error), error);
}

/** A failure that neither a program nor an option caused: an error in the code of the tools, or of this package. */
export function strayFailure(reason: string, cause?: unknown): CommandFailure {
  return new CommandFailure(EXIT.environment, `The tools, or Portcullis itself, failed: ${reason}`, {
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
export function failureLine(thrown: unknown): string {
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
  return failureLine(thrown)
    .replace(/^\w*Error: /, "")
    .replace(/\.$/, "");
}

interface Guard {
  /** Makes the failure to report from the reason. */
  readonly failure: (reason: string, cause?: unknown) => CommandFailure;
  readonly fail: (failure: CommandFailure) => void;
}

const guards: Guard[] = [];

/**
 * Waits for work that runs foreign code. Rejects with a `CommandFailure` if that code ends the process instead of throwing: by
 * an unhandled error, a promise that can never settle, or `process.exit`. Of nested guards the innermost reports.
 */
export async function guardWork<Value>(work: () => Promise<Value>, failure: Guard["failure"]): Promise<Value> {
  const { promise: broken, reject: fail } = Promise.withResolvers<never>();
  const guard = { failure, fail };
  guards.push(guard);
  try {
    return await Promise.race([work(), broken]);
  } finally {
    guards.splice(guards.indexOf(guard), 1);
  }
}

let outlast: ((error: unknown) => void) | undefined;

/**
 * Until disposed of, tells errors that would end the process, and lets it go on: a server has other clients than the
 * client whose call left a rejection behind.
 */
export function outlastErrors(tell: (error: unknown) => void): Disposable {
  outlast = tell;
  return {
    [Symbol.dispose]: () => {
      outlast = undefined;
    },
  };
}

/** Reports errors that would end the process to the innermost guard. Without a guard all work has ended, and they are ignored. */
export function listenToProcess(): void {
  const onError = (error: unknown) =>
    outlast ? outlast(error) : report((failure) => failure(failureLine(error), error));
  process.on("uncaughtException", onError);
  process.on("unhandledRejection", onError);
  process.on("beforeExit", () =>
    report((failure) => failure("nothing is left to run, but a promise is still pending.")),
  );
  process.on("exit", () => {
    const exited = guards.at(-1)?.failure("process.exit was called.");
    if (!exited) return;
    process.exitCode = exited.exitCode;
    try {
      writeSync(process.stderr.fd, `portcullis: ${oneLine(exited.message)}\n`);
    } catch {
      // Standard error is closed.
    }
  });
}

function report(make: (failure: Guard["failure"]) => CommandFailure): void {
  const guard = guards.at(-1);
  guard?.fail(make(guard.failure));
}

/** Signals that ask a process to end, with the exit code of a process that they end. */
const CODES = { SIGINT: EXIT.cancelled, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp } as const;
const SIGNALS = Object.keys(CODES) as (keyof typeof CODES)[];

export interface Cancelling extends Disposable {
  /** Aborted by the first of these signals. A second signal of the same kind ends the process. */
  readonly signal: AbortSignal;
  /** Resolves with the first of these signals. */
  readonly asked: Promise<void>;
  /** Exit code for the signal that cancelled; `EXIT.cancelled` before there was one. */
  readonly exitCode: number;
}

/**
 * Until disposed, aborts `signal` when the process is asked to end, so that engines and containers are ended before it.
 * `interrupt` is asked at each SIGINT first: true if it has interrupted something, and the process goes on.
 */
export function cancelOnSignal(interrupt: () => boolean = () => false): Cancelling {
  const cancel = new AbortController();
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  let exitCode: number = EXIT.cancelled;
  const onSignal = (name: NodeJS.Signals) => {
    if (name === "SIGINT" && interrupt()) return;
    process.off(name, onSignal);
    if (!cancel.signal.aborted) exitCode = CODES[name as keyof typeof CODES];
    cancel.abort();
    resolve();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    signal: cancel.signal,
    asked,
    get exitCode() {
      return exitCode;
    },
    [Symbol.dispose](): void {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
