import type { Attributes, Meter } from "@opentelemetry/api";
import { FIGURES, type FigureName, type FigureSink, LOADS } from "./metric-table.ts";
import { type Otel, safely, SCOPE } from "./otel.ts";

/** The meters of this process. There is one instance, because each instance observes the load of all runtimes for ever. */
export function metersOf(otel: Otel): Meters {
  shared ??= makeMeters(otel);
  return shared;
}

let shared: Meters | undefined;

type Note = (amount: number, attributes: Attributes) => void;

/**
 * Tells figures to the meter provider that is registered. The API has no proxy for meters, so instruments of a former
 * provider stay silent.
 */
export interface Meters extends FigureSink {
  /** Lets a provider that was registered since the last use observe the load. */
  readonly follow: () => void;
}

function makeMeters(otel: Otel): Meters {
  const notes = new Map<FigureName, Note>();
  let lastProvider: unknown;
  const follow = () =>
    safely(otel, () => {
      const provider = otel.metrics.getMeterProvider();
      if (provider === lastProvider) return;
      lastProvider = provider;
      notes.clear();
      const meter = provider.getMeter(SCOPE);
      observeLoads(otel, meter);
      for (const figure of Object.keys(FIGURES) as FigureName[])
        safely(otel, () => notes.set(figure, instrumentOf(meter, figure)));
    });
  return {
    follow,
    note(figure, amount, attributes = {}) {
      follow();
      safely(otel, () => notes.get(figure)?.(amount, attributes));
    },
  };
}

function instrumentOf(meter: Meter, figure: FigureName): Note {
  const { name, bounds, ...about } = FIGURES[figure];
  if (!bounds) {
    const counter = meter.createCounter(name, about);
    return (amount, attributes) => counter.add(amount, attributes);
  }
  const histogram = meter.createHistogram(name, { ...about, advice: { explicitBucketBoundaries: [...bounds] } });
  return (amount, attributes) => histogram.record(amount, attributes);
}

function observeLoads(otel: Otel, meter: Meter): void {
  for (const { name, description, unit, read } of LOADS)
    safely(otel, () =>
      meter.createObservableGauge(name, { description, unit }).addCallback((result) => {
        for (const [value, attributes] of read()) result.observe(value, attributes);
      }),
    );
}
