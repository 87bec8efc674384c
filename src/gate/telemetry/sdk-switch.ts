import type { Redactor } from "../../journal/redaction/redactor.ts";
import type { Meters } from "./meters.ts";
import type { Capture } from "./options.ts";
import type { Otel } from "./otel.ts";
import type { FigureSink } from "./metric-table.ts";
import type { Telemetry } from "./telemetry.ts";
import { isAnyObject, pause } from "../../base/index.ts";

/** Where `@opentelemetry/api` 1.x keeps what an application has registered, for all of its copies in a process. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

/**
 * Whether an application has registered an SDK, for spans or for metrics. It is asked before the package is
 * loaded: loading takes as long as a whole program, and without an SDK the package does nothing.
 */
export function hasSdk(): boolean {
  const registered = (globalThis as Readonly<Record<symbol, unknown>>)[REGISTERED];
  if (!isAnyObject(registered)) return false;
  const { trace, metrics } = registered as { readonly trace?: unknown; readonly metrics?: unknown };
  return trace !== undefined || metrics !== undefined;
}

/** Loads `@opentelemetry/api`, once in a process. Rejects if it is not installed. */
export function loadOtel(): Promise<Otel> {
  loading ??= import("@opentelemetry/api");
  return loading;
}

let loading: Promise<Otel> | undefined;

const sinks = new Set<FigureSink>();

/** Tells the sink the figures of all runtimes of this process, until the returned function is called. */
export function addSink(sink: FigureSink): () => void {
  sinks.add(sink);
  return () => void sinks.delete(sink);
}

export interface TelemetryParts {
  /** Undefined if an SDK is told nothing. */
  readonly captures: ReadonlySet<Capture> | undefined;
  readonly redactor: Redactor | undefined;
  /** Tells the operator, once, that the package is missing. */
  readonly onMissing: (error: unknown) => void;
}

/** The telemetry of a runtime. It begins once an SDK is registered or figures are asked for. */
export function telemetrySwitch({ captures, redactor, onMissing }: TelemetryParts) {
  let meters: Meters | undefined;
  let withSdk: Promise<Telemetry | undefined> | undefined;
  let figuresOnly: Promise<Telemetry> | undefined;

  async function load(): Promise<Telemetry | undefined> {
    try {
      const [otel, { metersOf }] = await Promise.all([loadOtel(), import("./meters.ts")]);
      meters = metersOf(otel);
      meters.follow();
      return await begin([meters], otel, captures);
    } catch (error) {
      onMissing(error);
      return sinks.size === 0 ? undefined : begin();
    }
  }

  async function begin(first: readonly FigureSink[] = [], sdk?: Otel, kinds: ReadonlySet<Capture> = new Set()) {
    const [{ telemetryOf }, { WITHOUT_SDK }, { contentsOf }] = await Promise.all([
      import("./telemetry.ts"),
      import("./otel.ts"),
      import("./contents.ts"),
    ]);
    const note: FigureSink["note"] = (...noted) => {
      for (const sink of [...first, ...sinks]) sink.note(...noted);
    };
    return telemetryOf({ otel: sdk ?? WITHOUT_SDK, figures: { note }, contents: contentsOf(kinds, redactor) });
  }

  return {
    /** Undefined if nothing is recorded. Never rejects. */
    get now(): Promise<Telemetry | undefined> | undefined {
      meters?.follow();
      if (captures && hasSdk()) return (withSdk ??= load());
      return sinks.size === 0 ? undefined : (figuresOnly ??= begin());
    },
  };
}

/** Methods that providers of an SDK have, and providers of the API alone do not. */
interface Provider {
  readonly getDelegate?: () => Provider;
  readonly forceFlush?: () => Promise<void>;
}

/**
 * Exports what an SDK has collected, before the process ends: it would be lost otherwise. Takes no longer than `withinMs`.
 * Never rejects; the SDK's own `diag` is told of failures.
 */
export async function flushTelemetry(withinMs: number): Promise<void> {
  const otel = hasSdk() ? await loadOtel().catch(() => undefined) : undefined;
  if (!otel) return;
  const { safely } = await import("./otel.ts");
  const providers = [otel.trace.getTracerProvider(), otel.metrics.getMeterProvider()] as readonly Provider[];
  const flushing = providers.map((provider) =>
    safely(otel, async () => (provider.getDelegate?.() ?? provider).forceFlush?.(), Promise.resolve()),
  );
  await Promise.race([Promise.allSettled(flushing), pause(withinMs)]);
}
