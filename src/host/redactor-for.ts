import { PortcullisError } from "../errors.ts";
import type { Logger } from "../gate/failure-log.ts";
import { CONSOLE_LOGGER } from "../output/console-logger.ts";
import type { Redact } from "../redaction/redact.ts";
import { Redactor } from "../redaction/redactor.ts";

/** Failures of `redact` that the operator is told of. */
const MAX_TOLD = 20;

/** Tells the operator where the function fails: its message alone, because its error may quote the text. */
export function redactorFor(redact: Redact, logger: Logger = CONSOLE_LOGGER): Redactor {
  let told = 0;
  return new Redactor(redact, (error) => {
    told += 1;
    if (told > MAX_TOLD) return;
    const why = PortcullisError.is(error) ? error.message : "The `redact` function threw, so a text was left out.";
    try {
      logger.error({ tool: "", execution: "", callId: "", code: "redact_failed" }, why);
    } catch {}
  });
}
