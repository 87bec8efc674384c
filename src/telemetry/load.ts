import type { Redactor } from "../redaction/redactor.ts";
import type { Capture } from "./options.ts";
import type { Otel } from "./otel.ts";
import type { Telemetry } from "./telemetry.ts";

/** Where `@opentelemetry/api` 1.x keeps what an application has registered, for all of its copies in a process. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/**
 * Whether an application has registered an SDK, for spans or for metrics. It is looked at before the package is loaded:
 * to load it takes as long as a whole program, and without an SDK it does nothing.
 */
export function hasSdk(): boolean {
  const registered = (globalThis as Readonly<Record<symbol, unknown>>)[REGISTERED];
  if (typeof registered !== "object" || registered === null) return false;
  const { trace, metrics } = registered as { readonly trace?: unknown; readonly metrics?: unknown };
  return trace !== undefined || metrics !== undefined;
}

/** Loads `@opentelemetry/api`, once in a process. Rejects where it is not installed. */
export function loadOtel(): Promise<Otel> {
  loading ??= import("@opentelemetry/api");
  return loading;
}

let loading: Promise<Otel> | undefined;

export interface TelemetryParts {
  readonly captures: ReadonlySet<Capture>;
  readonly redactor: Redactor | undefined;
  /** Tells the operator, once, that the package is missing. */
  readonly onMissing: (error: unknown) => void;
}

/** The telemetry of one runtime, which begins once an SDK is registered. */
export class TelemetrySwitch {
  readonly #parts: TelemetryParts;
  #loading: Promise<Telemetry | undefined> | undefined;

  constructor(parts: TelemetryParts) {
    this.#parts = parts;
  }

  /** Undefined without an SDK. Never rejects. */
  get now(): Promise<Telemetry | undefined> | undefined {
    if (!hasSdk()) return undefined;
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async #load(): Promise<Telemetry | undefined> {
    const { captures, redactor, onMissing } = this.#parts;
    try {
      const [otel, { OtelTelemetry }, { metersOf }, { Contents }] = await Promise.all([
        loadOtel(),
        import("./otel-telemetry.ts"),
        import("./meters.ts"),
        import("./contents.ts"),
      ]);
      return new OtelTelemetry({ otel, meters: metersOf(otel), contents: new Contents(captures, redactor) });
    } catch (error) {
      onMissing(error);
      return undefined;
    }
  }
}
