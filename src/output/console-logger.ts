import { inspect } from "node:util";
import type { Logger } from "../gate/failure-log.ts";
import { cutMiddle } from "../values/cut-middle.ts";
import { INSET, insetLines, insetText } from "./foreign-text.ts";

/** An error may hold a whole response. */
const ERROR_BYTES = 16 * 1024;
const SHORT = { depth: 3, maxArrayLength: 20, maxStringLength: 10_000 };

/**
 * The logger where neither a logger nor a listener was given. Failures that the program was told are not in it. Errors
 * may quote what a server sent, so their text is cleaned and indented: it cannot control a terminal or imitate an entry.
 */
export const CONSOLE_LOGGER: Logger = {
  error: ({ execution, err }, message) => {
    const details = err === undefined ? "" : `\n${errorText(err)}`;
    // One argument: in several, `%` of the first would format the others.
    // oxlint-disable-next-line no-console -- the operator has named no other place
    console.error(`portcullis: ${insetLines(message)}${execution === "" ? "" : ` (execution ${execution})`}${details}`);
  },
  warn: () => {},
};

/** What a handler threw, with its stack, as indented lines. */
function errorText(error: unknown): string {
  return cutMiddle(insetText(inspect(error, SHORT)), ERROR_BYTES, INSET);
}
