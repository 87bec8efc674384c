import type { Logger } from "../gate/failure-log.ts";
import { cutMiddle } from "../values/cut-middle.ts";
import { INSET, insetLines, insetText } from "./foreign-text.ts";
import { thrownText } from "./thrown-text.ts";

/** An error may hold a whole response. */
const ERROR_BYTES = 16 * 1024;

/**
 * The logger of a host that gives none. It leaves out failures that the program was told. Errors may quote what a
 * server sent, so their text is cleaned and indented: it cannot control a terminal or imitate an entry.
 */
export const CONSOLE_LOGGER: Logger = {
  error: ({ execution, err }, message) => {
    const where = execution === "" ? "" : ` (execution ${execution})`;
    const details = err === undefined ? "" : `\n${cutMiddle(insetText(thrownText(err)), ERROR_BYTES, INSET)}`;
    // One argument: in several, `%` of the first would format the others.
    // oxlint-disable-next-line no-console -- the operator has named no other place
    console.error(`portcullis: ${insetLines(`${message}${where}`)}${details}`);
  },
  warn: () => {},
};

/** A logger whose messages are clean and begin no line of their own: they quote names, ids and errors of others. */
export function cleanLogger(logger: Logger): Logger {
  return {
    error: (entry, message) => logger.error(entry, insetLines(message)),
    warn: (entry, message) =>
      logger.warn ? logger.warn(entry, insetLines(message)) : logger.error(entry, insetLines(message)),
  };
}
