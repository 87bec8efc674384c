import type * as api from "@opentelemetry/api";

/** The package `@opentelemetry/api`, which is loaded only if an SDK is registered. */
export type Otel = typeof api;

/** Stands for the package if no SDK is registered, and only figures are counted. */
export const WITHOUT_SDK = {
  diag: { error: () => {} },
  trace: { getTracer: () => ({ startSpan: () => undefined }), getSpanContext: () => undefined },
  context: { active: () => undefined, with: (_: unknown, work: () => unknown) => work() },
  SpanKind: {},
} as unknown as Otel;

export const SCOPE = "portcullis";

/** Does work at which the SDK may fail, also by a promise. Its `diag` is told, and the caller gets `otherwise`. */
export function safely<Value>(otel: Pick<Otel, "diag">, work: () => Value, otherwise: Value): Value;
export function safely<Value>(otel: Pick<Otel, "diag">, work: () => Value): Value | undefined;
export function safely<Value>(otel: Pick<Otel, "diag">, work: () => Value, otherwise?: Value): Value | undefined {
  try {
    const value = work();
    if (value instanceof Promise) value.catch((error: unknown) => tell(otel, error));
    return value;
  } catch (error) {
    tell(otel, error);
    return otherwise;
  }
}

/** Does work within a context. It is done once, and its result is its own, also if the SDK's context manager fails. */
export function within<Value>(otel: Otel, context: api.Context, work: () => Value): Value {
  const done: { read?: () => Value } = {};
  const once = () => {
    if (done.read) return;
    try {
      const value = work();
      done.read = () => value;
    } catch (error) {
      done.read = () => {
        throw error;
      };
    }
  };
  safely(otel, () => otel.context.with(context, once));
  return (done.read ?? work)();
}

function tell({ diag }: Pick<Otel, "diag">, error: unknown): void {
  try {
    diag.error("portcullis: the OpenTelemetry SDK threw, and something was not recorded.", error);
  } catch {}
}

/** A span's place in its trace as `traceparent`; undefined if the SDK gives none. */
export function spanPlace(otel: Otel, read: () => api.SpanContext | undefined): string | undefined {
  const place = safely(otel, read);
  return place && safely(otel, () => (otel.isSpanContextValid(place) ? traceParentOf(place) : undefined));
}

/** A place in a trace, as the header `traceparent` of W3C Trace Context has it. */
export interface TracePlace {
  readonly traceId: string;
  readonly spanId: string;
  /** 1 if the trace is recorded, else 0. */
  readonly traceFlags: number;
}

/** Version, trace, span and flags; a version after 00 may have more. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[ -~]{0,200})?$/;
const ZERO = /^0{16,32}$/;

/** Reads a `traceparent`, which may be any text; undefined if it is invalid. */
export function parseTraceParent(text: string): TracePlace | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] = FORM.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (ZERO.test(traceId) || ZERO.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}

function traceParentOf({ traceId, spanId, traceFlags }: TracePlace): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`;
}
