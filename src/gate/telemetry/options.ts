import { isFields, option, optionsIn, type OptionsOf, readOptions } from "../../base/index.ts";

/** Kinds of contents that spans may have: inputs of calls, results of calls and programs, sources of programs. */
const CAPTURES = ["inputs", "results", "programs"] as const;
export type Capture = (typeof CAPTURES)[number];

export const TELEMETRY_RULES = {
  /**
   * Contents that spans have: any of `"inputs"`, `"results"` and `"programs"`. By default the environment variable
   * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` decides; without it, none.
   */
  capture: option<readonly Capture[]>(
    'a list of "inputs", "results" and "programs"',
    (value) => Array.isArray(value) && value.every((one) => CAPTURES.some((capture) => capture === one)),
  ),
};

export type TelemetryOptions = OptionsOf<typeof TELEMETRY_RULES>;

/** The option `telemetry`: false for none. */
export const TELEMETRY = option<TelemetryOptions | false>(
  "false, or an object with `capture`",
  (value) => value === false || isFields(value),
);

/** The kinds of contents that are captured; undefined if nothing is recorded at all. Throws `option_invalid`. */
export function capturesOf(
  options: TelemetryOptions | false | undefined,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ReadonlySet<Capture> | undefined {
  if (options === undefined) return capturedBy(environment);
  if (options === false) return undefined;
  const { capture } = readOptions(optionsIn("createRuntime", "telemetry"), options, TELEMETRY_RULES);
  return capture ? new Set(capture) : capturedBy(environment);
}

/** Values of the variable that ask for contents in spans; others ask for them in events, or for none. */
const IN_SPANS: ReadonlySet<string> = new Set(["true", "span_only", "span_and_event"]);

function capturedBy(environment: Readonly<Record<string, string | undefined>>): ReadonlySet<Capture> {
  const asked = environment["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"]?.trim().toLowerCase() ?? "";
  return new Set(IN_SPANS.has(asked) ? CAPTURES : []);
}
