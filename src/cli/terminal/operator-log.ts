import { inspect } from "node:util";
import type { FailureEntry, Logger } from "../../gate/failure-log.ts";
import { insetText } from "../../output/foreign-text.ts";
import { oneLine } from "./one-line.ts";

/** A failure of a handler, as `--json` has it under `operator`. */
export interface OperatorEntry extends Omit<FailureEntry, "err"> {
  readonly message: string;
  /** What the handler threw, with its stack; missing if it threw nothing. */
  readonly error?: string;
}

/** Keeps what only the operator should see. */
export interface OperatorLog extends Logger {
  readonly entries: readonly OperatorEntry[];
  /** Prints the entries on standard error. Their text comes from tools, so it is indented. */
  readonly print: () => void;
}

export function createOperatorLog(): OperatorLog {
  const entries: OperatorEntry[] = [];
  const error = ({ err, ...entry }: FailureEntry, message: string) => {
    entries.push({ ...entry, message, ...(err === undefined ? {} : { error: inspect(err, SHORT) }) });
  };
  return {
    entries,
    error,
    print() {
      for (const entry of entries) {
        const stack = entry.error === undefined ? "" : `\n${insetText(entry.error)}`;
        process.stderr.write(`portcullis: ${oneLine(entry.message)}${stack}\n`);
      }
    },
  };
}

/** An error may hold a whole response. */
const SHORT = { depth: 3, maxArrayLength: 20, maxStringLength: 10_000 };
