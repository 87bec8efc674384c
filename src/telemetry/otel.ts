import type * as api from "@opentelemetry/api";

/** The package `@opentelemetry/api`, which is loaded only where an SDK is registered. */
export type Otel = typeof api;

/** Name of the tracer and the meter. */
export const SCOPE = "portcullis";

/** Does what the SDK may fail at. Its own channel for diagnoses is told, and the work goes on without. */
export function safely<Value>({ diag }: Pick<Otel, "diag">, work: () => Value, otherwise: Value): Value {
  try {
    return work();
  } catch (error) {
    try {
      diag.error("portcullis: the OpenTelemetry SDK threw, and something was not recorded.", error);
    } catch {}
    return otherwise;
  }
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
