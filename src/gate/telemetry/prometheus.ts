import type { Attributes } from "@opentelemetry/api";
import { FIGURES, type FigureName, type FigureSink, type Gauge, type Metric } from "./metric-table.ts";

/** Maximum series of a metric. Each has attributes of its own: names of tools and codes come from hosts and guests. */
const MOST_SERIES = 500;
/** Stands for the attributes of all further series, as in the SDKs of OpenTelemetry. */
const OVERFLOW: Attributes = { "otel.metric.overflow": "true" };

interface Series {
  readonly attributes: Attributes;
  /** The count of each bucket, without the counts of lower buckets. */
  readonly counts: number[];
  count: number;
  sum: number;
}

/** Keeps figures for Prometheus, under the names that OpenTelemetry's conventions give them there. */
export class PrometheusFigures implements FigureSink {
  readonly #series = new Map<FigureName, Map<string, Series>>();

  note(figure: FigureName, amount: number, attributes: Attributes = {}): void {
    const all = this.#series.get(figure) ?? new Map<string, Series>();
    this.#series.set(figure, all);
    const bounds = boundsOf(figure);
    const key = keyOf(attributes);
    const isKnown = all.has(key) || all.size < MOST_SERIES;
    const labelSet = isKnown ? attributes : OVERFLOW;
    const toldKey = isKnown ? key : keyOf(OVERFLOW);
    const series = all.get(toldKey) ?? { attributes: labelSet, counts: bounds.map(() => 0), count: 0, sum: 0 };
    all.set(toldKey, series);
    const bucket = bounds.findIndex((bound) => amount <= bound);
    if (bucket >= 0) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.count += 1;
    series.sum += amount;
  }

  /** In the text format of Prometheus, with these gauges. */
  text(gauges: readonly Gauge[]): string {
    const lines = [...this.#series].flatMap(([figure, series]) => figureLines(figure, [...series.values()]));
    return [...lines, ...gauges.flatMap(gaugeLines), ""].join("\n");
  }
}

function boundsOf(figure: FigureName): readonly number[] {
  return FIGURES[figure].bounds ?? [];
}

function figureLines(figure: FigureName, series: readonly Series[]): readonly string[] {
  const metric = FIGURES[figure];
  const name = prometheusName(metric);
  const bounds = boundsOf(figure);
  if (bounds.length === 0) {
    const samples = series.map(({ attributes, sum }) => sample(`${name}_total`, attributes, sum));
    return [...headOf(`${name}_total`, metric, "counter"), ...samples];
  }
  const samples = series.flatMap(({ attributes, counts, count, sum }) => {
    let below = 0;
    const buckets = bounds.map((bound, index) => {
      below += counts[index] ?? 0;
      return sample(`${name}_bucket`, { ...attributes, le: String(bound) }, below);
    });
    return [
      ...buckets,
      sample(`${name}_bucket`, { ...attributes, le: "+Inf" }, count),
      sample(`${name}_sum`, attributes, sum),
      sample(`${name}_count`, attributes, count),
    ];
  });
  return [...headOf(name, metric, "histogram"), ...samples];
}

function gaugeLines(gauge: Gauge): readonly string[] {
  const name = prometheusName(gauge);
  const samples = gauge.read().map(([value, attributes = {}]) => sample(name, attributes, value));
  return [...headOf(name, gauge, "gauge"), ...samples];
}

const UNITS: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes" };

export function prometheusName({ name, unit }: Pick<Metric, "name" | "unit">): string {
  return `${name.replaceAll(".", "_")}${UNITS[unit] ?? ""}`;
}

function headOf(name: string, { description }: Metric, type: string): readonly string[] {
  return [`# HELP ${name} ${description}`, `# TYPE ${name} ${type}`];
}

function sample(name: string, attributes: Attributes, value: number): string {
  return `${name}${keyOf(attributes)} ${value}`;
}

function keyOf(attributes: Attributes): string {
  const labels = Object.entries(attributes).map(([name, value]) => `${name.replaceAll(".", "_")}=${quote(value)}`);
  return labels.length === 0 ? "" : `{${labels.join(",")}}`;
}

function quote(value: Attributes[string]): string {
  return `"${String(value).replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')}"`;
}
