import { hasSdk, loadOtel } from "./sdk-switch.ts";
import { parseTraceParent, safely, within } from "./otel.ts";

/**
 * Runs the work of a request below the span that its header `traceparent` names. A server that is instrumented already
 * has a span of its own for the request, and keeps it. Without an SDK, or with an invalid header, the work runs
 * unchanged.
 */
export async function withTraceparent<Value>(
  headers: Pick<Headers, "get">,
  work: () => Promise<Value>,
): Promise<Value> {
  const place = hasSdk() ? parseTraceParent(headers.get("traceparent") ?? "") : undefined;
  const otel = place && (await loadOtel().catch(() => undefined));
  if (!place || !otel) return work();
  const outer = safely(otel, () => {
    const active = otel.context.active();
    if (otel.trace.getSpan(active)) return undefined;
    const tracestate = headers.get("tracestate");
    const state = tracestate === null ? {} : { traceState: otel.createTraceState(tracestate) };
    return otel.trace.setSpanContext(active, { ...place, ...state, isRemote: true });
  });
  return outer ? within(otel, outer, work) : work();
}
