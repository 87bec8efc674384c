import type { FailureEntry, Logger } from "../../../gate/failure-log.ts";
import { insetText } from "../../../output/foreign-text.ts";
import { thrownText } from "../../../output/thrown-text.ts";
import { oneLine } from "../one-line.ts";
import { writeStderr } from "../standard-streams.ts";

/** A failure of a handler, as `--json` has it under `operator`. */
export interface OperatorEntry extends Omit<FailureEntry, "err"> {
  readonly message: string;
  /** What the handler threw, with its stack unless the failure is a known one; missing if it threw nothing. */
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
    entries.push({ ...entry, message, ...(err === undefined ? {} : { error: thrownText(err) }) });
  };
  return {
    entries,
    error,
    print() {
      for (const entry of entries) {
        const stack = entry.error === undefined ? "" : `\n${insetText(entry.error)}`;
        writeStderr(`portcullis: ${oneLine(entry.message)}${stack}\n`);
      }
    },
  };
}

/** Prints each failure of a handler when it happens, for commands that go on. */
export const printFailures: Logger = {
  error(entry, message) {
    const log = createOperatorLog();
    log.error(entry, message);
    log.print();
  },
};
