import type { ModelUsage } from "../models/model.ts";
import { addSink, eventStreams, type Gauge, LOADS, PROCESS, PrometheusFigures } from "../gate/telemetry/index.ts";

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

  /** Counts the tokens that a turn of a model has cost a tenant. `model` is its name with its provider. */
  spent(tenant: string, model: string, usage: ModelUsage): void {
    const about = { "portcullis.tenant": tenant, "gen_ai.request.model": model };
    const { inputTokens, cachedInputTokens, outputTokens } = usage;
    const kinds = { input: inputTokens - cachedInputTokens, cached_input: cachedInputTokens, output: outputTokens };
    for (const [kind, count] of Object.entries(kinds))
      this.#figures.note("tokens", count, { ...about, "gen_ai.token.type": kind });
  }

  addStreams(by: number): void {
    this.#streams += by;
  }

  /** `fleet`: figures that all processes of a fleet tell alike. */
  text(fleet: readonly Gauge[] = []): string {
    return this.#figures.text([...LOADS, eventStreams(() => this.#streams), ...fleet, ...PROCESS]);
  }

  [Symbol.dispose](): void {
    this.#remove();
  }
}
