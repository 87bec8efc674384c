import { eventStreams, LOADS, PROCESS } from "../telemetry/metric-table.ts";
import { addSink } from "../telemetry/sdk-switch.ts";
import { PrometheusFigures } from "../telemetry/prometheus.ts";

/** Methods that have a series of their own: a server of the host's may let through what a client calls a method. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** What `/metrics` tells: the figures of this process since the server was created, and the figures of its own requests. */
export class Metrics implements Disposable {
  readonly #figures = new PrometheusFigures();
  readonly #remove = addSink(this.#figures);
  #streams = 0;

  request(route: string, method: string, status: number, ms: number): void {
    this.#figures.note("requestDuration", ms / 1000, {
      "http.request.method": METHODS.has(method) ? method : "_OTHER",
      "http.route": route,
      "http.response.status_code": status,
    });
  }

  addStreams(by: number): void {
    this.#streams += by;
  }

  text(): string {
    return this.#figures.text([...LOADS, eventStreams(() => this.#streams), ...PROCESS]);
  }

  [Symbol.dispose](): void {
    this.#remove();
  }
}
