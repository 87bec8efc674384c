import type { Counter, Histogram, Meter, ObservableGauge, ObservableResult } from "@opentelemetry/api";
import { sumLoads } from "./loads.ts";
import { type Otel, safely, SCOPE } from "./otel.ts";

/** Bounds of histograms, as the GenAI conventions advise. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

/** The instruments of one meter. */
export interface Instruments {
  readonly toolDuration: Histogram;
  readonly operationDuration: Histogram;
  readonly tokenUsage: Histogram;
  readonly executionDuration: Histogram;
  readonly executions: Counter;
  readonly calls: Counter;
  readonly refusals: Counter;
  readonly bytesIn: Counter;
  readonly bytesOut: Counter;
}

/** The meters of this process. There is one instance, because each observes the load of all runtimes for good. */
export function metersOf(otel: Otel): Meters {
  shared ??= new Meters(otel);
  return shared;
}

let shared: Meters | undefined;

/**
 * Instruments of the meter provider that is registered now. The API has no proxy for meters, so instruments of a former
 * provider stay silent.
 */
export class Meters {
  readonly #otel: Otel;
  #provider: unknown;
  #instruments: Instruments | undefined;

  constructor(otel: Otel) {
    this.#otel = otel;
  }

  /** Lets a provider that was registered since the last use observe the load. */
  follow(): void {
    void this.now;
  }

  get now(): Instruments | undefined {
    return safely(
      this.#otel,
      () => {
        const provider = this.#otel.metrics.getMeterProvider();
        if (provider !== this.#provider) {
          this.#provider = provider;
          this.#instruments = undefined;
          this.#instruments = instrumentsOf(this.#otel, provider.getMeter(SCOPE));
        }
        return this.#instruments;
      },
      undefined,
    );
  }
}

function instrumentsOf(otel: Otel, meter: Meter): Instruments {
  observeLoads(otel, meter);
  const duration = (name: string, description: string) =>
    meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries: SECONDS } });
  return {
    toolDuration: duration("gen_ai.execute_tool.duration", "Time that a handler took, without its waits for a place."),
    operationDuration: duration(
      "gen_ai.client.operation.duration",
      "Time of a request to a model, its retries included.",
    ),
    tokenUsage: meter.createHistogram("gen_ai.client.token.usage", {
      description: "Tokens of a request to a model.",
      unit: "{token}",
      advice: { explicitBucketBoundaries: TOKENS },
    }),
    executionDuration: duration(
      "portcullis.execution.duration",
      "Time in which an execution or a conversation was driven.",
    ),
    executions: meter.createCounter("portcullis.executions", {
      description: "Executions and conversations that ended or wait.",
      unit: "{execution}",
    }),
    calls: meter.createCounter("portcullis.calls", {
      description: "Calls that the gate has answered.",
      unit: "{call}",
    }),
    refusals: meter.createCounter("portcullis.refusals", {
      description: "Calls that the gate has refused, by code.",
      unit: "{call}",
    }),
    bytesIn: meter.createCounter("portcullis.bytes.in", { description: "Bytes that tools returned.", unit: "By" }),
    bytesOut: meter.createCounter("portcullis.bytes.out", {
      description: "Bytes of programs' results that models were given.",
      unit: "By",
    }),
  };
}

/** Observes the running and the waiting work of all runtimes of this process. */
function observeLoads(otel: Otel, meter: Meter): void {
  const gauge = (name: string, description: string, unit: string): ObservableGauge =>
    meter.createObservableGauge(name, { description, unit });
  const running = gauge("portcullis.running", "Executions, conversations and calls that run.", "{execution}");
  const waiting = gauge(
    "portcullis.waiting",
    "Executions, conversations and calls that wait for a place of the runtime.",
    "{execution}",
  );
  const engines = gauge("portcullis.engines", "Engines and containers, by state.", "{engine}");
  const queued = gauge("portcullis.engines.waiting", "Programs that wait for an engine or a container.", "{execution}");
  const observe = (gauges: readonly ObservableGauge[], report: (result: ObservableResult) => void) => {
    for (const one of gauges) safely(otel, () => one.addCallback(report), undefined);
  };
  observe([running], (result) => result.observe(sumLoads().running));
  observe([waiting], (result) => result.observe(sumLoads().waiting));
  observe([queued], (result) => {
    for (const [sandbox, { waiting: count }] of sumLoads().sandboxes)
      result.observe(count, { "portcullis.sandbox": sandbox });
  });
  observe([engines], (result) => {
    for (const [sandbox, { guests, idle }] of sumLoads().sandboxes) {
      result.observe(guests - idle, { "portcullis.sandbox": sandbox, "portcullis.engine.state": "busy" });
      result.observe(idle, { "portcullis.sandbox": sandbox, "portcullis.engine.state": "idle" });
    }
  });
}
