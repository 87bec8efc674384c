import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { after, cancel, ignore, monotonic, nextTick, type Timer } from "../../../base/index.ts";
import type { Connection } from "../../sandbox.ts";
import type { EgressLimits } from "./egress-plan.ts";
import type { Target } from "./request-target.ts";

/** How much of a client one read may bring, in bytes: as much as node reads at once. */
const READ_BYTES = 64 * 1024;
/** What a part of a body counts at least, in bytes: each part takes the host's time. */
const PART_BYTES = 256;

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
  readonly #over = new AbortController();
  readonly #options: ConnectionOptions;
  readonly #startedAt = monotonic();
  readonly #total: Timer;
  #deadline: Timer | undefined;
  #address = "";
  #spentBytes = 0;
  /** What small parts of bodies count beyond their bytes. */
  #partsBytes = 0;
  #onClientData = ignore;

  constructor(client: Socket, options: ConnectionOptions) {
    this.client = client;
    this.#options = options;
    const { connectionMs } = options.limits;
    this.#total = after(connectionMs, () => this.cut(`The connection reached its limit of ${connectionMs} ms.`));
    this.expectWithin(options.limits.headerMs, "The client sent no complete request in time.");
    client.on("error", ignore);
    client.once("close", () => this.#clientClosed());
  }

  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Sets the deadline anew: the connection is cut after `ms`, unless this is called again or bytes move before. */
  expectWithin(ms: number, detail: string): void {
    cancel(this.#deadline);
    this.#deadline = after(ms, () => this.cut(detail));
  }

  join(upstream: Socket): void {
    this.upstream = upstream;
    this.#address = upstream.remoteAddress ?? "";
  }

  /**
   * Counts the client's bytes from now on, and cuts a client that sends more than a request's headers before its request.
   * To be called after the server has taken the client: its parser then reads no bytes past this.
   */
  watchClient(): void {
    const { client } = this;
    const mostBytes = client.bytesRead + this.#options.limits.headerBytes + READ_BYTES;
    client.off("data", this.#onClientData);
    this.#onClientData = () => {
      if (!this.asked && client.bytesRead > mostBytes) this.cut("The client sent too many bytes before its request.");
      else this.charge();
    };
    client.on("data", this.#onClientData);
  }

  /**
   * Forwards bytes in one direction, with backpressure. From then on the deadline is `idleMs` without bytes. What one read
   * has brought is forwarded at once: it may be ten thousand parts of one byte.
   */
  pass(from: Readable, to: Writable): void {
    const { idleMs } = this.#options.limits;
    this.expectWithin(idleMs, `No bytes moved for ${idleMs} ms.`);
    const moved = () => !this.over.aborted && this.#deadline?.refresh();
    let parts: Buffer[] = [];
    const forward = () => {
      if (parts.length === 0) return;
      const bytes = Buffer.concat(parts);
      this.#partsBytes += Math.max(0, parts.length * PART_BYTES - bytes.length);
      parts = [];
      moved();
      this.charge();
      if (!this.over.aborted && !to.write(bytes)) from.pause();
    };
    from.on("data", (chunk: Buffer) => {
      if (parts.push(chunk) === 1) nextTick(forward);
    });
    to.on("drain", () => {
      moved();
      from.resume();
    });
    from.once("end", () => {
      forward();
      to.end();
    });
    from.resume();
  }

  /** Counts all bytes on the sockets so far against the limit, content or not, once there is a host. */
  charge(): void {
    const { client, upstream } = this;
    if (!upstream) return;
    const clientBytes = client.bytesRead + client.bytesWritten;
    const upstreamBytes = upstream.bytesRead + upstream.bytesWritten;
    const bytes = Math.max(clientBytes, upstreamBytes) + this.#partsBytes - this.#spentBytes;
    if (bytes <= 0) return;
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
    cancel(this.#total);
    cancel(this.#deadline);
    const bytesUp = this.upstream?.bytesWritten ?? 0;
    const bytesDown = this.upstream?.bytesRead ?? 0;
    this.upstream?.destroy();
    const { host = "", port = 0 } = this.target ?? {};
    const ms = Math.round(monotonic() - this.#startedAt);
    this.#options.onEnd(this, { host, port, address: this.#address, bytesUp, bytesDown, ms, outcome, detail });
    this.charge();
  }

  #clientClosed(): void {
    const { upstream, client } = this;
    if (upstream === undefined) this.end("failed", "The client closed the connection before its host was reached.");
    else if (upstream.readableEnded || (this.clientMayEnd && client.readableEnded)) this.end("done");
    else this.end("failed", "The client closed the connection early.");
  }
}
