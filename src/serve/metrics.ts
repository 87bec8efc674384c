import type { AgentEvent } from "../agent/event.ts";

/** Upper bounds of the buckets of durations, in seconds. */
const BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60];
/** Different values of all labels of one counter: names of tools and codes come from hosts and guests. */
const MOST_SERIES = 500;
const OTHER = "other";
/** Methods that have a series of their own: a server of the host's may let through what a client calls one. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

type Labels = Readonly<Record<string, string>>;

interface Timing {
  readonly counts: number[];
  count: number;
  seconds: number;
}

/** A figure that is read when it is asked for. */
export interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly read: () => number;
}

const HELP: Readonly<Record<string, string>> = {
  portcullis_http_requests_total: "Requests, by route, method and status.",
  portcullis_http_request_seconds: "Time until the headers of the answer, by route.",
  portcullis_executions_total: "Programs that have ended or begun to wait, by outcome.",
  portcullis_calls_total: "Calls of tools, by outcome, and by the code of refusals and failures.",
  portcullis_tool_bytes_total: "Bytes of JSON that tools have returned.",
  portcullis_conversations_total: "Conversations that have ended, by ending.",
};

/** What the server counts, as Prometheus reads it. */
export class Metrics {
  readonly #counters = new Map<string, Map<string, number>>();
  readonly #timings = new Map<string, Timing>();
  readonly #gauges: readonly Gauge[];

  constructor(gauges: readonly Gauge[]) {
    this.#gauges = gauges;
  }

  request(route: string, method: string, status: number, ms: number): void {
    this.#add("portcullis_http_requests_total", {
      route,
      method: METHODS.has(method) ? method : OTHER,
      status: String(status),
    });
    const timing = this.#timings.get(route) ?? { counts: BUCKETS.map(() => 0), count: 0, seconds: 0 };
    this.#timings.set(route, timing);
    const seconds = ms / 1000;
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) timing.counts[bucket] = (timing.counts[bucket] ?? 0) + 1;
    timing.count += 1;
    timing.seconds += seconds;
  }

  take(event: AgentEvent): void {
    if (event.type === "execution_ended") this.#add("portcullis_executions_total", { outcome: event.outcome.type });
    else if (event.type === "execution_waiting") this.#add("portcullis_executions_total", { outcome: "waiting" });
    else if (event.type === "conversation_ended")
      this.#add("portcullis_conversations_total", { ending: event.ending.type });
    else if (event.type === "call_ended") {
      const { outcome, bytes } = event.line;
      this.#add("portcullis_calls_total", { outcome: outcome.type, code: "code" in outcome ? outcome.code : "" });
      this.#add("portcullis_tool_bytes_total", {}, bytes);
    }
  }

  /** In the text format of Prometheus. */
  text(): string {
    return [...this.#counterLines(), ...this.#timingLines(), ...this.#gaugeLines(), ""].join("\n");
  }

  #add(name: string, labels: Labels, by = 1): void {
    const series = this.#counters.get(name) ?? new Map<string, number>();
    this.#counters.set(name, series);
    const written = write(labels);
    const known = series.has(written) || series.size < MOST_SERIES;
    const key = known ? written : write(Object.fromEntries(Object.keys(labels).map((label) => [label, OTHER])));
    series.set(key, (series.get(key) ?? 0) + by);
  }

  *#counterLines(): Iterable<string> {
    for (const [name, series] of this.#counters) {
      yield* head(name, HELP[name] ?? "", "counter");
      for (const [labels, value] of series) yield `${name}${labels} ${value}`;
    }
  }

  *#timingLines(): Iterable<string> {
    const name = "portcullis_http_request_seconds";
    yield* head(name, HELP[name] ?? "", "histogram");
    for (const [route, { counts, count, seconds }] of this.#timings) {
      let below = 0;
      for (const [index, bound] of BUCKETS.entries()) {
        below += counts[index] ?? 0;
        yield `${name}_bucket${write({ route, le: String(bound) })} ${below}`;
      }
      yield `${name}_bucket${write({ route, le: "+Inf" })} ${count}`;
      yield `${name}_sum${write({ route })} ${seconds}`;
      yield `${name}_count${write({ route })} ${count}`;
    }
  }

  *#gaugeLines(): Iterable<string> {
    for (const { name, help, read } of this.#gauges) {
      yield* head(name, help, "gauge");
      yield `${name} ${read()}`;
    }
  }
}

function head(name: string, help: string, type: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function write(labels: Labels): string {
  const written = Object.entries(labels).map(([name, value]) => `${name}=${quote(value)}`);
  return written.length === 0 ? "" : `{${written.join(",")}}`;
}

function quote(value: string): string {
  return `"${value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')}"`;
}
