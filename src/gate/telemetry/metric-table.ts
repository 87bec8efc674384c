import { monotonic, now } from "../../base/index.ts";
import { sumGuests, sumLoads } from "./process-load.ts";

type Labels = Readonly<Record<string, unknown>>;

/** A metric, named by the conventions of OpenTelemetry. */
export interface Metric {
  readonly name: string;
  readonly description: string;
  /** `s`, `By`, or what is counted, like `{call}`. */
  readonly unit: string;
}

/** A metric that grows with what happens: a histogram if it has `bounds`, else a counter. */
interface Figure extends Metric {
  readonly bounds?: readonly number[] | undefined;
}

/** A metric that is read when it is asked for. */
export interface Gauge extends Metric {
  readonly read: () => readonly (readonly [value: number, attributes?: Labels])[];
}

/** As the conventions for generative AI and for HTTP advise. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

const figure = (name: string, unit: string, description: string, bounds?: readonly number[]): Figure => {
  return { name, unit, description, bounds };
};

/** All that is counted and timed, for OpenTelemetry and for `/metrics`. */
export const FIGURES = {
  toolDuration: figure(
    "gen_ai.execute_tool.duration",
    "s",
    "Time that a handler took, without its waits for a place.",
    SECONDS,
  ),
  operationDuration: figure(
    "gen_ai.client.operation.duration",
    "s",
    "Time of a request to a model, its retries included.",
    SECONDS,
  ),
  tokenUsage: figure("gen_ai.client.token.usage", "{token}", "Tokens of a request to a model.", TOKENS),
  executionDuration: figure(
    "portcullis.execution.duration",
    "s",
    "Time in which an execution or a conversation was driven.",
    SECONDS,
  ),
  executions: figure("portcullis.executions", "{execution}", "Executions and conversations that ended or wait."),
  calls: figure("portcullis.calls", "{call}", "Calls that the gate has answered."),
  fetched: figure("portcullis.fetched", "By", "Bytes that tools returned."),
  streamed: figure("portcullis.streamed", "{item}", "Items that tools gave in streams."),
  returned: figure("portcullis.returned", "By", "Bytes of programs' results that models were given."),
  tokens: figure("portcullis.gateway.tokens", "{token}", "Tokens that models were charged for answers of the gateway."),
  requestDuration: figure(
    "http.server.request.duration",
    "s",
    "Time until the headers of the answer.",
    REQUEST_SECONDS,
  ),
} as const;

export type FigureName = keyof typeof FIGURES;

export function gauge(name: string, unit: string, description: string, read: Gauge["read"]): Gauge {
  return { name, unit, description, read };
}

export const LOADS: readonly Gauge[] = [
  gauge("portcullis.running", "{execution}", "Executions, conversations and calls that run.", () => [
    [sumLoads(({ running }) => running)],
  ]),
  gauge(
    "portcullis.waiting",
    "{execution}",
    "Executions, conversations and calls that wait for a place of the runtime.",
    () => [[sumLoads(({ waiting }) => waiting)]],
  ),
  gauge("portcullis.engines", "{engine}", "Engines and containers, by state.", () =>
    sumGuests().flatMap(([sandbox, { guests, idle }]) => [
      [guests - idle, { "portcullis.sandbox": sandbox, "portcullis.engine.state": "busy" }],
      [idle, { "portcullis.sandbox": sandbox, "portcullis.engine.state": "idle" }],
    ]),
  ),
  gauge("portcullis.engines.waiting", "{execution}", "Programs that wait for an engine or a container.", () =>
    sumGuests().map(([sandbox, { waiting }]) => [waiting, { "portcullis.sandbox": sandbox }]),
  ),
];

export function eventStreams(count: () => number): Gauge {
  return gauge("portcullis.event_streams", "{stream}", "Open streams of events.", () => [[count()]]);
}

/** Seconds since 1970, by the clock as it was when this was loaded. */
const STARTED_AT = Math.round((now() - monotonic()) / 1000);

/** Under the names that clients of Prometheus give them. */
export const PROCESS: readonly Gauge[] = [
  gauge("process.resident_memory", "By", "Memory of the process, without its engines.", () => [
    [process.memoryUsage.rss()],
  ]),
  gauge("process.start_time", "s", "Start of the process since 1970.", () => [[STARTED_AT]]),
];

/** Takes what the runtimes of this process count. It does not throw. */
export interface FigureSink {
  note(figure: FigureName, amount: number, attributes?: Labels): void;
}
