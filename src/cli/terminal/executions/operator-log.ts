import type { FailureEntry, Logger } from "../../../gate/run/failure-log.ts";
import { insetText } from "../../../base/index.ts";
import { thrownText } from "../../../executions/output/index.ts";
import { oneLine } from "../one-line.ts";
import { writeStderr } from "../standard-streams.ts";

/** A failure of a handler, as `--json` has it under `operator`. */
export interface OperatorEntry extends Omit<FailureEntry, "err"> {
  readonly message: string;
  /** What the handler threw, with its stack unless the failure is a known one; missing if it threw nothing. */
  readonly error?: string;
}

/** Keeps what only the operator should see. */
export class OperatorLog implements Logger {
  readonly entries: OperatorEntry[] = [];

  error({ err, ...entry }: FailureEntry, message: string): void {
    this.entries.push({ ...entry, message, error: err === undefined ? undefined : thrownText(err) });
  }

  /** Prints the entries on standard error. Their text comes from tools, so it is indented. */
  print(): void {
    for (const { message, error } of this.entries) {
      const stack = error === undefined ? "" : `\n${insetText(error)}`;
      writeStderr(`portcullis: ${oneLine(message)}${stack}\n`);
    }
  }
}

/** Prints each failure of a handler when it happens, for commands that go on. */
export const printFailures: Logger = {
  error(entry, message) {
    const log = new OperatorLog();
    log.error(entry, message);
    log.print();
  },
};
