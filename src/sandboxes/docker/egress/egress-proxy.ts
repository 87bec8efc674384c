import { addAbortListener, once } from "node:events";
import { chmodSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import type { Connection } from "../../sandbox.ts";
import { isAllowed } from "./names/allow-list.ts";
import { EgressConnection } from "./egress-connection.ts";
import type { EgressPlan } from "./egress-plan.ts";
import { EgressRefusal } from "./egress-refusal.ts";
import { forwardRequest } from "./forward-request.ts";
import { parseAbsoluteTarget, parseAuthority, parsePath, type Target } from "./request-target.ts";
import { carriedBy, joinTunnel } from "./tls/tunnel.ts";
import { after, cancel, ignore } from "../../../base/index.ts";

const ESTABLISHED = "HTTP/1.1 200 Connection Established\r\n\r\n";
/** Connections that wait to be accepted. */
const BACKLOG = 64;

/** A container's HTTP proxy, for hostile clients. A connection has one request or one tunnel, to one listed host. */
export class EgressProxy {
  readonly #plan: EgressPlan;
  readonly #report: (connection: Connection) => void;
  readonly #server: Server;
  readonly #over = new AbortController();
  readonly #resolve: (host: string) => Promise<readonly string[]>;
  readonly #open = new Map<Socket, EgressConnection>();
  #accepted = 0;
  #remainingBytes: number;

  constructor(plan: EgressPlan, report: (connection: Connection) => void) {
    this.#plan = plan;
    this.#report = report;
    this.#resolve = resolverOf(plan, this.#over.signal);
    this.#remainingBytes = plan.limits.totalBytes;
    this.#server = createServer({
      maxHeaderSize: plan.limits.headerBytes,
      insecureHTTPParser: false,
      // The server would answer a request without `Host` by itself, and read the next one.
      requireHostHeader: false,
      // `EgressConnection` enforces deadlines: the server's own timeouts restart with each piece of a request.
      headersTimeout: 0,
      requestTimeout: 0,
      keepAliveTimeout: 0,
      connectionsCheckingInterval: plan.limits.connectionMs,
    });
    this.#server.maxConnections = plan.limits.connectionsAtOnce;
    this.#server.on("connection", (client) => this.#accept(client));
    this.#server.on("drop", () => this.#drop());
    this.#server.on("request", (request, response) => void this.#request(request, response));
    // Without a listener the server answers an unknown expectation by itself, and reads the next request.
    this.#server.on("checkExpectation", (request, response) => void this.#request(request, response));
    this.#server.on("connect", (request, client, head) => void this.#connect(request, client as Socket, head));
    this.#server.on("clientError", (error, client) => this.#malformed(error, client as Socket));
  }

  /** Listens at `path`. Any process that can enter its folder may connect. */
  async listen(path: string): Promise<void> {
    this.#server.listen({ path, backlog: BACKLOG });
    await once(this.#server, "listening");
    this.#server.on("error", ignore);
    chmodSync(path, 0o666);
  }

  /** Ends every connection, and reports each before this returns. */
  close(): void {
    this.#server.close();
    this.#over.abort();
    for (const connection of this.#open.values()) connection.cut("The guest has ended.");
  }

  /** Whether a client has connected. */
  get isUsed(): boolean {
    return this.#accepted > 0;
  }

  ref(): void {
    this.#server.ref();
  }

  unref(): void {
    this.#server.unref();
  }

  // ---- connections ------------------------------------------------------------------------------------------------

  #accept(client: Socket): void {
    // A tunnel that carries plain HTTP is passed to the server a second time.
    const tunnel = this.#open.get(client);
    if (tunnel) return tunnel.watchClient();
    this.#countAccepted();
    const connection = new EgressConnection(client, {
      limits: this.#plan.limits,
      spend: (bytes) => this.#spend(bytes),
      onEnd: (ended, summary) => {
        this.#open.delete(ended.client);
        this.#report(summary);
      },
    });
    this.#open.set(client, connection);
    connection.watchClient();
  }

  /** Reports a connection that the server closed because too many were open. */
  #drop(): void {
    this.#countAccepted();
    const detail = `${this.#plan.limits.connectionsAtOnce} connections were open already.`;
    this.#report({ host: "", port: 0, address: "", bytesUp: 0, bytesDown: 0, ms: 0, outcome: "refused", detail });
  }

  /** Stops listening at the limit of connections: more would cost the host's time and space in the journal. */
  #countAccepted(): void {
    this.#accepted += 1;
    if (this.#accepted >= this.#plan.limits.connections) this.#server.close();
  }

  #spend(bytes: number): void {
    this.#remainingBytes -= bytes;
    if (this.#remainingBytes > 0) return;
    for (const connection of this.#open.values()) connection.cut(this.#spentSentence);
  }

  get #spentSentence(): string {
    return `The program has used up its ${this.#plan.limits.totalBytes} bytes of egress.`;
  }

  // ---- requests ---------------------------------------------------------------------------------------------------

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const connection = this.#ask(request.socket);
    if (!connection) return;
    const { upstream: tunnelled, target: tunnelTarget } = connection;
    try {
      const target = tunnelled ? parsePath(request.url ?? "", tunnelTarget) : parseAbsoluteTarget(request.url ?? "");
      if (!target) throw badTarget();
      const upstream = tunnelled ?? (await this.#reach(connection, target));
      const { headerBytes } = this.#plan.limits;
      await forwardRequest({ connection, request, response, target, upstream, headerBytes });
    } catch (error) {
      const { status, phrase, message, outcome } = refusalOf(error);
      if (!connection.over.aborted && !response.headersSent) {
        response.writeHead(status, phrase, { "content-type": "text/plain; charset=utf-8", connection: "close" });
        response.end(`${message}\n`);
      }
      connection.end(outcome, message);
    }
  }

  async #connect(request: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    const connection = this.#ask(client);
    if (!connection) return;
    const { limits } = this.#plan;
    try {
      if (connection.upstream) throw badTarget();
      const target = parseAuthority(request.url ?? "");
      if (!target) throw badTarget();
      const upstream = await this.#reach(connection, target);
      if (head.length > 0) client.unshift(head);
      connection.expectWithin(limits.headerMs, "The client sent no ClientHello or request through its tunnel in time.");
      client.write(ESTABLISHED);
      const hello = await carriedBy(client, target.host, limits.headerBytes);
      if (connection.over.aborted) return;
      if (hello) return await joinTunnel(connection, upstream, { hello, host: target.host, limits });
      // Plain HTTP through a tunnel, as node's fetch sends it, is read like any other request, for the tunnel's host.
      connection.asked = false;
      this.#server.emit("connection", client);
      client.resume();
    } catch (error) {
      const refusal = refusalOf(error);
      this.#answer(client, refusal);
      connection.end(refusal.outcome, refusal.message);
    }
  }

  #malformed({ code = "" }: Error & { readonly code?: string }, client: Socket): void {
    const connection = this.#open.get(client);
    if (!connection) return void client.destroy();
    const refusal =
      code === "HPE_HEADER_OVERFLOW"
        ? new EgressRefusal(
            431,
            "Headers Too Large",
            `The headers of a request may have at most ${this.#plan.limits.headerBytes} bytes.`,
          )
        : new EgressRefusal(400, "Bad Request", `The request is malformed: ${code}.`);
    // Bytes after the first request get no answer of their own.
    if (connection.asked) client.destroy();
    else this.#answer(client, refusal);
    connection.end("refused", refusal.message);
  }

  /** Returns the connection of a request. Ends the connection if this is its second request. */
  #ask(client: Socket): EgressConnection | undefined {
    const connection = this.#open.get(client);
    if (connection === undefined || connection.asked) {
      client.destroy();
      connection?.end("refused", "The client sent a second request on the same connection.");
      return undefined;
    }
    connection.asked = true;
    return connection;
  }

  /** Connects to a request's target, if the rules allow it. */
  async #reach(connection: EgressConnection, target: Target): Promise<Socket> {
    const { allowed, limits } = this.#plan;
    connection.target = { host: target.host, port: target.port };
    if (!isAllowed(allowed, target.host, target.port))
      throw new EgressRefusal(
        403,
        "Host Not Allowed",
        `${target.host}:${target.port} is not among the hosts that this program may reach.`,
      );
    if (this.#remainingBytes <= 0) throw new EgressRefusal(403, "Bytes Spent", this.#spentSentence);
    const { over } = connection;
    connection.expectWithin(limits.connectMs, `The address of ${target.host} was not found in time.`);
    const addresses = await this.#resolve(target.host);
    over.throwIfAborted();
    // Twice the time, so that `connectUpstream` times out first and the client gets its refusal.
    connection.expectWithin(2 * limits.connectMs, `${target.host} was not reached in time.`);
    const upstream = await connectUpstream(target, addresses, { connectMs: limits.connectMs, signal: over });
    if (over.aborted) upstream.destroy();
    over.throwIfAborted();
    connection.join(upstream);
    connection.expectWithin(limits.idleMs, `No bytes moved for ${limits.idleMs} ms.`);
    return upstream;
  }

  #answer(client: Socket, { status, phrase, message }: EgressRefusal): void {
    if (status === 0 || !client.writable) return void client.destroy();
    const body = `${message}\n`;
    client.end(
      `HTTP/1.1 ${status} ${phrase}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      () => client.destroy(),
    );
  }
}

function badTarget(): EgressRefusal {
  return new EgressRefusal(
    403,
    "Host Not Allowed",
    "The target is not a plain host name (with a port, for CONNECT): addresses and other forms are refused.",
  );
}

function refusalOf(error: unknown): EgressRefusal {
  if (error instanceof EgressRefusal) return error;
  return new EgressRefusal(502, "No Connection", (error as Error).message, "failed");
}

/** Connects to the first address that answers, within `connectMs` for all of them together. Looks up no names. */
async function connectUpstream(
  { host, port }: Target,
  addresses: readonly string[],
  { connectMs, signal }: { readonly connectMs: number; readonly signal: AbortSignal },
): Promise<Socket> {
  let reason = "";
  for (const address of addresses) {
    try {
      return await connectTo(address, port, connectMs / addresses.length, signal);
    } catch (error) {
      reason = (error as { readonly code?: string }).code ?? (error as Error).message;
    }
    signal.throwIfAborted();
  }
  throw new EgressRefusal(504, "Host Not Reachable", `${host} cannot be reached at port ${port}: ${reason}.`, "failed");
}

async function connectTo(address: string, port: number, connectMs: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
  const giveUp = () => socket.destroy(new Error("no answer in time"));
  const timer = after(connectMs, giveUp);
  using _ = addAbortListener(signal, giveUp);
  try {
    await once(socket, "connect");
    return socket;
  } finally {
    cancel(timer);
    // A later error closes the socket, and its owner listens for that.
    socket.on("error", ignore);
  }
}

/** How many addresses of one host are tried, one after the other. */
const MAX_TRIED = 4;

/**
 * Looks up each host once, so that no name changes its address after the check. A container's look-ups take turns, and none
 * begins after its end: it could still send data to a name server. Rejects with an `EgressRefusal` if a host has no address,
 * or one that may not be reached.
 */
function resolverOf({ lookup, mayReach }: EgressPlan, over: AbortSignal): (host: string) => Promise<readonly string[]> {
  const found = new Map<string, Promise<readonly string[]>>();
  let last: Promise<unknown> = Promise.resolve();
  const find = async (host: string): Promise<readonly string[]> => {
    if (over.aborted) throw new EgressRefusal(502, "Host Not Found", "The guest has ended.", "failed");
    const addresses = await lookup(host, over).catch((error: unknown) => {
      if (error instanceof EgressRefusal) throw error;
      return [];
    });
    if (addresses.length === 0) throw new EgressRefusal(502, "Host Not Found", `${host} has no address.`, "failed");
    // One forbidden address is enough to refuse the host: a mixed list is a sign of an attack.
    if (!addresses.every((address) => mayReach(address)))
      throw new EgressRefusal(403, "Address Not Public", `${host} is at an address that programs may not reach.`);
    return addresses.slice(0, MAX_TRIED);
  };
  return (host) => {
    const hit = found.get(host);
    if (hit) return hit;
    const finding = last.then(() => find(host));
    found.set(host, finding);
    // A failed look-up is not kept.
    finding.catch(() => found.delete(host));
    last = finding.catch(ignore);
    return finding;
  };
}
