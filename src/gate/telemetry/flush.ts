import { pause } from "../../base/index.ts";
import { hasSdk, loadOtel } from "./sdk-switch.ts";
import { safely } from "./otel.ts";

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
  const providers = [otel.trace.getTracerProvider(), otel.metrics.getMeterProvider()] as readonly Provider[];
  const flushing = providers.map((provider) => safely(otel, () => flush(provider), Promise.resolve()));
  await Promise.race([Promise.allSettled(flushing), pause(withinMs)]);
}

async function flush(provider: Provider): Promise<void> {
  const own = provider.getDelegate?.() ?? provider;
  await own.forceFlush?.();
}
