import type { Logger } from "../../gate/failure-log.ts";
import { createOperatorLog } from "./operator-log.ts";

/** Prints each failure of a handler when it happens, for commands that go on. */
export const printFailures: Logger = {
  error(entry, message) {
    const log = createOperatorLog();
    log.error(entry, message);
    log.print();
  },
};
