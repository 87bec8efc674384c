import type * as api from "@opentelemetry/api";
import { traceParentOf } from "./trace-parent.ts";

/** The package `@opentelemetry/api`, which is loaded only where an SDK is registered. */
export type Otel = typeof api;

/** Name of the tracer and the meter. */
export const SCOPE = "portcullis";

/**
 * Does what the SDK may fail at, now or by a promise that it should not return. Its own channel for diagnoses is told, and the
 * work goes on without.
 */
export function safely<Value>(otel: Pick<Otel, "diag">, work: () => Value, otherwise: Value): Value {
  try {
    const value = work();
    if (value instanceof Promise) value.catch((error: unknown) => tell(otel, error));
    return value;
  } catch (error) {
    tell(otel, error);
    return otherwise;
  }
}

function tell({ diag }: Pick<Otel, "diag">, error: unknown): void {
  try {
    diag.error("portcullis: the OpenTelemetry SDK threw, and something was not recorded.", error);
  } catch {}
}

/** Where a span is, as `traceparent`; undefined for a place that is none. */
export function placeOf(otel: Otel, read: () => api.SpanContext | undefined): string | undefined {
  const place = safely(otel, read, undefined);
  return place && safely(otel, () => (otel.isSpanContextValid(place) ? traceParentOf(place) : undefined), undefined);
}

/** Runs work in a context. Where the context's manager fails, the work runs once all the same, and only its own errors are thrown. */
export function inContext<Value>(otel: Otel, context: api.Context, work: () => Value): Value {
  let ran: { readonly value: Value } | { readonly error: unknown } | undefined;
  const once = () => {
    if (ran) return;
    try {
      ran = { value: work() };
    } catch (error) {
      ran = { error };
    }
  };
  safely(otel, () => otel.context.with(context, once), undefined);
  once();
  const done = ran as unknown as { readonly value: Value } | { readonly error: unknown };
  if ("error" in done) throw done.error;
  return done.value;
}
