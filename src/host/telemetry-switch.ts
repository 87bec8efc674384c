import type { Logger } from "../gate/failure-log.ts";
import { CONSOLE_LOGGER } from "../output/console-logger.ts";
import type { Redactor } from "../redaction/redactor.ts";
import { TelemetrySwitch } from "../telemetry/load.ts";
import type { Capture } from "../telemetry/options.ts";

const MISSING =
  "An OpenTelemetry SDK is registered, and nothing is recorded, because the package @opentelemetry/api cannot be loaded: npm install @opentelemetry/api";

/** Tells the operator where telemetry cannot begin. */
export function telemetrySwitch(
  captures: ReadonlySet<Capture>,
  redactor: Redactor | undefined,
  logger: Logger = CONSOLE_LOGGER,
): TelemetrySwitch {
  return new TelemetrySwitch({
    captures,
    redactor,
    onMissing: (err) => {
      try {
        logger.error({ tool: "", execution: "", callId: "", code: "telemetry_missing", err }, MISSING);
      } catch {}
    },
  });
}
