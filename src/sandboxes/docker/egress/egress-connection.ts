import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import type { Connection } from "../../sandbox.ts";
import type { EgressLimits } from "./egress-limits.ts";
import type { Target } from "./request-target.ts";

export interface ConnectionOptions {
  readonly limits: EgressLimits;
  /** Takes bytes from what all connections may move. */
  readonly spend: (bytes: number) => void;
  readonly onEnd: (connection: EgressConnection, told: Connection) => void;
}

/** One connection of a program's client: from when it is accepted until it is told of, which it is once. */
export class EgressConnection {
  readonly client: Socket;
  /** Where it leads, once that is known. One connection leads to one place. */
  target: Target | undefined;
  /** Whether its one request has come. */
  asked = false;
  upstream: Socket | undefined;
  /** Whether it is done when the client says so: a tunnel is, a request is not before its answer. */
  clientMayEnd = false;
  /** Aborted at its end. */
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
    this.#total = setTimeout(() => this.cut(`It lasted for ${connectionMs} ms.`), connectionMs);
    this.expectWithin(options.limits.headerMs, "The client did not say in time what it wants.");
    client.on("error", () => {});
    client.once("close", () => this.#clientClosed());
  }

  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Cuts it off unless something else is expected, or bytes flow, before that. */
  expectWithin(ms: number, otherwise: string): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.cut(otherwise), ms);
  }

  /** Gives it its other side. */
  join(upstream: Socket): void {
    this.upstream = upstream;
    this.#address = upstream.remoteAddress ?? "";
  }

  /** Lets bytes through one way, no faster than they are taken. From then on silence is what ends it. */
  pass(from: Readable, to: Writable): void {
    const { idleMs } = this.#options.limits;
    this.expectWithin(idleMs, `Nothing moved for ${idleMs} ms.`);
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

  /** Ends it and tells of it. The client stays, for it may still be told why. */
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
    // Headers were not seen by `pass`.
    this.#options.spend(Math.max(0, bytesUp + bytesDown - this.#spentBytes));
  }

  #clientClosed(): void {
    const { upstream, client } = this;
    if (upstream === undefined) this.end("failed", "The client went away before it was connected.");
    else if (upstream.readableEnded || (this.clientMayEnd && client.readableEnded)) this.end("done");
    else this.end("failed", "The client went away.");
  }
}
