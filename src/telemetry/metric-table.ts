import type { Attributes } from "@opentelemetry/api";
import { monotonic, now } from "../clock.ts";
import { sumLoads } from "./process-load.ts";

/** A metric, named by the conventions of OpenTelemetry. */
export interface Metric {
  readonly name: string;
  readonly description: string;
  /** `s`, `By`, or what is counted, like `{call}`. */
  readonly unit: string;
}

/** A metric that grows with what happens: a histogram if it has `bounds`, else a counter. */
interface Figure extends Metric {
  /** Upper bounds of the buckets. */
  readonly bounds?: readonly number[];
}

/** A metric that is read when it is asked for. */
export interface Gauge extends Metric {
  readonly read: () => readonly (readonly [value: number, attributes?: Attributes])[];
}

/** As the conventions for generative AI and for HTTP advise. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

const TABLE = {
  toolDuration: {
    name: "gen_ai.execute_tool.duration",
    description: "Time that a handler took, without its waits for a place.",
    unit: "s",
    bounds: SECONDS,
  },
  operationDuration: {
    name: "gen_ai.client.operation.duration",
    description: "Time of a request to a model, its retries included.",
    unit: "s",
    bounds: SECONDS,
  },
  tokenUsage: {
    name: "gen_ai.client.token.usage",
    description: "Tokens of a request to a model.",
    unit: "{token}",
    bounds: TOKENS,
  },
  executionDuration: {
    name: "portcullis.execution.duration",
    description: "Time in which an execution or a conversation was driven.",
    unit: "s",
    bounds: SECONDS,
  },
  executions: {
    name: "portcullis.executions",
    description: "Executions and conversations that ended or wait.",
    unit: "{execution}",
  },
  calls: {
    name: "portcullis.calls",
    description: "Calls that the gate has answered.",
    unit: "{call}",
  },
  fetched: { name: "portcullis.fetched", description: "Bytes that tools returned.", unit: "By" },
  streamed: { name: "portcullis.streamed", description: "Items that tools gave in streams.", unit: "{item}" },
  returned: {
    name: "portcullis.returned",
    description: "Bytes of programs' results that models were given.",
    unit: "By",
  },
  tokens: {
    name: "portcullis.gateway.tokens",
    description: "Tokens that models were charged for answers of the gateway.",
    unit: "{token}",
  },
  requestDuration: {
    name: "http.server.request.duration",
    description: "Time until the headers of the answer.",
    unit: "s",
    bounds: REQUEST_SECONDS,
  },
} as const satisfies Readonly<Record<string, Figure>>;

export type FigureName = keyof typeof TABLE;

/** All that is counted and timed, for OpenTelemetry and for `/metrics`. */
export const FIGURES: Readonly<Record<FigureName, Figure>> = TABLE;

/** The running and the waiting work of all runtimes of this process. */
export const LOADS: readonly Gauge[] = [
  {
    name: "portcullis.running",
    description: "Executions, conversations and calls that run.",
    unit: "{execution}",
    read: () => [[sumLoads().running]],
  },
  {
    name: "portcullis.waiting",
    description: "Executions, conversations and calls that wait for a place of the runtime.",
    unit: "{execution}",
    read: () => [[sumLoads().waiting]],
  },
  {
    name: "portcullis.engines",
    description: "Engines and containers, by state.",
    unit: "{engine}",
    read: () =>
      [...sumLoads().sandboxes].flatMap(([sandbox, { guests, idle }]) => [
        [guests - idle, { "portcullis.sandbox": sandbox, "portcullis.engine.state": "busy" }],
        [idle, { "portcullis.sandbox": sandbox, "portcullis.engine.state": "idle" }],
      ]),
  },
  {
    name: "portcullis.engines.waiting",
    description: "Programs that wait for an engine or a container.",
    unit: "{execution}",
    read: () => [...sumLoads().sandboxes].map(([sandbox, { waiting }]) => [waiting, { "portcullis.sandbox": sandbox }]),
  },
];

/** The open streams of a server. */
export function eventStreams(count: () => number): Gauge {
  return {
    name: "portcullis.event_streams",
    description: "Open streams of events.",
    unit: "{stream}",
    read: () => [[count()]],
  };
}

/** Seconds since 1970, by the clock as it was when this was loaded. */
const STARTED_AT = Math.round((now() - monotonic()) / 1000);

/** Under the names that clients of Prometheus give them. */
export const PROCESS: readonly Gauge[] = [
  {
    name: "process.resident_memory",
    description: "Memory of the process, without its engines.",
    unit: "By",
    read: () => [[process.memoryUsage.rss()]],
  },
  {
    name: "process.start_time",
    description: "Start of the process since 1970.",
    unit: "s",
    read: () => [[STARTED_AT]],
  },
];

/** Takes what the runtimes of this process count. It does not throw. */
export interface FigureSink {
  note(figure: FigureName, amount: number, attributes?: Attributes): void;
}
