import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import type { Connection } from "../../sandbox.ts";
import type { EgressLimits } from "./egress-limits.ts";
import type { Target } from "./request-target.ts";

export interface ConnectionOptions {
  readonly limits: EgressLimits;
  /** Counts bytes against the limit of all connections together. */
  readonly spend: (bytes: number) => void;
  readonly onEnd: (connection: EgressConnection, report: Connection) => void;
}

/** One connection of a client in the container, from its acceptance until it is reported, exactly once. */
export class EgressConnection {
  readonly client: Socket;
  /** The host it leads to, once known. It never changes. */
  target: Target | undefined;
  /** Whether the connection's only request has arrived. */
  asked = false;
  upstream: Socket | undefined;
  /** Whether the client may end the connection normally: it may end a tunnel, but a request only after its answer. */
  clientMayEnd = false;
  /** Aborted when the connection ends. */
  readonly #over = new AbortController();
  readonly #options: ConnectionOptions;
  readonly #startedAt = performance.now();
  readonly #total: NodeJS.Timeout;
  #deadline: NodeJS.Timeout | undefined;
  #address = "";
  #spentBytes = 0;

  constructor(client: Socket, options: ConnectionOptions) {
    this.client = client;
    this.#options = options;
    const { connectionMs } = options.limits;
    this.#total = setTimeout(() => this.cut(`The connection reached its limit of ${connectionMs} ms.`), connectionMs);
    this.expectWithin(options.limits.headerMs, "The client sent no complete request in time.");
    client.on("error", () => {});
    client.once("close", () => this.#clientClosed());
  }

  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Sets the deadline anew: the connection is cut after `ms`, unless this is called again or bytes move before. */
  expectWithin(ms: number, detail: string): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.cut(detail), ms);
  }

  /** Sets the connection to the host. */
  join(upstream: Socket): void {
    this.upstream = upstream;
    this.#address = upstream.remoteAddress ?? "";
  }

  /** Forwards bytes in one direction, with backpressure. From then on the deadline is `idleMs` without bytes. */
  pass(from: Readable, to: Writable): void {
    const { idleMs } = this.#options.limits;
    this.expectWithin(idleMs, `No bytes moved for ${idleMs} ms.`);
    const moved = () => !this.over.aborted && this.#deadline?.refresh();
    from.on("data", (chunk: Buffer) => {
      moved();
      this.count(chunk.length);
      if (!this.over.aborted && !to.write(chunk)) from.pause();
    });
    to.on("drain", () => {
      moved();
      from.resume();
    });
    from.once("end", () => to.end());
    from.resume();
  }

  count(bytes: number): void {
    this.#spentBytes += bytes;
    this.#options.spend(bytes);
  }

  cut(detail: string): void {
    this.end("cut", detail);
    this.client.destroy();
  }

  /** Ends and reports the connection. The client's socket stays open, so that it can still be sent a refusal. */
  end(outcome: Connection["outcome"], detail = ""): void {
    if (this.over.aborted) return;
    this.#over.abort();
    clearTimeout(this.#total);
    clearTimeout(this.#deadline);
    const bytesUp = this.upstream?.bytesWritten ?? 0;
    const bytesDown = this.upstream?.bytesRead ?? 0;
    this.upstream?.destroy();
    const { host = "", port = 0 } = this.target ?? {};
    const ms = Math.round(performance.now() - this.#startedAt);
    this.#options.onEnd(this, { host, port, address: this.#address, bytesUp, bytesDown, ms, outcome, detail });
    // Headers do not go through `pass` and are counted here.
    this.#options.spend(Math.max(0, bytesUp + bytesDown - this.#spentBytes));
  }

  #clientClosed(): void {
    const { upstream, client } = this;
    if (upstream === undefined) this.end("failed", "The client closed the connection before its host was reached.");
    else if (upstream.readableEnded || (this.clientMayEnd && client.readableEnded)) this.end("done");
    else this.end("failed", "The client closed the connection early.");
  }
}
