import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { after, cancel, pause, PortcullisError, type CheckedOptions } from "../../base/index.ts";
import type { SERVER_RULES } from "../server-options.ts";
import { type Fetch, type ListenerOptions, nodeListener } from "./node-listener.ts";
import type { ProblemCode } from "./problems.ts";

const HEADER_BYTES = 16 * 1024;
/** Time for unread answers when the server closes, in milliseconds. */
const FLUSH_MS = 1000;
/** Time for a client to read why its connection is ended, in milliseconds. */
const LAST_WORD_MS = 2000;

export interface HttpOptions
  extends ListenerOptions, Pick<CheckedOptions<typeof SERVER_RULES>, "connections" | "headersMs" | "requestMs"> {
  readonly fetch: Fetch;
  /** 0 for any free port. */
  readonly port: number;
  readonly host: string;
}

export interface HttpListener {
  /** Without a slash at its end. */
  readonly url: string;
  /** Takes no further connections. Open connections go on. */
  readonly stop: () => void;
  /** Ends all connections, those with answers under way after a second at most. */
  readonly close: () => Promise<void>;
}

/** Serves a web-standard function at an address. Rejects with `door_unavailable` if it cannot be listened on. */
export async function listenHttp(options: HttpOptions): Promise<HttpListener> {
  const { fetch, port, host, connections, headersMs, requestMs, idleMs } = options;
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      maxHeaderSize: HEADER_BYTES,
      connectionsCheckingInterval: Math.min(headersMs, 5000),
    },
    nodeListener(fetch, options),
  );
  server.maxConnections = connections;
  server.on("clientError", refuseMalformed);
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new PortcullisError(
      "door_unavailable",
      `The server cannot listen on ${host}, port ${port}: ${(cause as Error).message}. Give another port, or 0 for any that is free.`,
      { cause },
    );
  }
  const { port: boundPort } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${boundPort}`,
    stop: () => void server.close(),
    close: () => close(server),
  };
}

async function close(server: Server): Promise<void> {
  if (server.listening) server.close();
  server.closeIdleConnections();
  using _ = after(FLUSH_MS, () => server.closeAllConnections());
  while ((await openConnections(server)) > 0) {
    server.closeIdleConnections();
    await pause(10);
  }
}

function openConnections(server: Server): Promise<number> {
  return new Promise((resolve) => void server.getConnections((error, count) => resolve(error ? 0 : count)));
}

/** Answers malformed HTTP in the same form as a refused request. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const [status, reason, message] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? [431, "Request Header Fields Too Large", `The headers have more than ${HEADER_BYTES} bytes.`]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? [408, "Request Timeout", "The request took too long to arrive: send it again."]
        : [400, "Bad Request", "This is no HTTP request."];
  // A client that does not close its side would keep the connection.
  const timer = after(LAST_WORD_MS, () => socket.destroy()).unref();
  socket.once("close", () => cancel(timer));
  const body = JSON.stringify({ error: { code: "request_invalid" satisfies ProblemCode, message } });
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
