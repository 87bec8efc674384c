import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type Span,
  TracerProvider,
} from "@opentelemetry/sdk-trace";

export interface Recording {
  /** Spans that have ended, in the order of their ends. */
  readonly spans: () => readonly ReadableSpan[];
  readonly span: (name: string) => ReadableSpan;
  /** Names of the spans that have begun and not ended. */
  readonly open: () => readonly string[];
  /** Data points of a metric, as `{ attributes, value }`. */
  readonly points: (name: string) => Promise<readonly { readonly attributes: object; readonly value: unknown }[]>;
  readonly stop: () => Promise<void>;
}

/** Registers the official SDK with its exporters that keep everything in memory. */
export function record(): Recording {
  const exporter = new InMemorySpanExporter();
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });
  const begun = new Map<string, string>();
  const opened = {
    onStart: (span: Span) => void begun.set(span.spanContext().spanId, span.name),
    onEnd: (span: ReadableSpan) => void begun.delete(span.spanContext().spanId),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const tracers = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter }), opened] });
  const meters = new MeterProvider({ readers: [reader] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(tracers);
  metrics.setGlobalMeterProvider(meters);
  const spans = () => exporter.getFinishedSpans();
  return {
    spans,
    open: () => [...begun.values()],
    span: (name) => {
      const found = spans().find((one) => one.name === name);
      if (!found)
        throw new Error(
          `There is no span ${name}, only ${spans()
            .map((one) => one.name)
            .join(", ")}.`,
        );
      return found;
    },
    points: async (name) => {
      await reader.forceFlush();
      const all =
        metricExporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      return all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
    },
    stop: async () => {
      unregister();
      await meters.shutdown();
      await tracers.shutdown();
    },
  };
}

export function unregister(): void {
  trace.disable();
  metrics.disable();
  context.disable();
}

/** The spans as a tree of names. */
export function tree(spans: readonly ReadableSpan[], parent?: string): readonly unknown[] {
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  return spans
    .filter(({ parentSpanContext }) =>
      parent === undefined
        ? !parentSpanContext || !ids.has(parentSpanContext.spanId)
        : parentSpanContext?.spanId === parent,
    )
    .map((span) => {
      const below = tree(spans, span.spanContext().spanId);
      return below.length === 0 ? span.name : [span.name, below];
    });
}
