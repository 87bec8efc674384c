import { type IncomingMessage, request as sendRequest, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { EgressConnection } from "./egress-connection.ts";
import { EgressRefusal } from "./egress-refusal.ts";
import type { TargetWithPath } from "./request-target.ts";

/** Interim answers (100 to 199) that a host may send before its answer. None is forwarded. */
const INTERIM_ANSWERS = 8;

export interface Forwarding {
  readonly connection: EgressConnection;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: TargetWithPath;
  readonly upstream: Socket;
  readonly headerBytes: number;
}

/**
 * Forwards a request, serialized anew: `Host` is the target, whatever the client sent, and exactly one header says where
 * the body ends. Rejects with an `EgressRefusal` if there is no valid answer.
 */
export async function forwardRequest(forwarding: Forwarding): Promise<void> {
  const { connection, request, response, target, upstream, headerBytes } = forwarding;
  const framing = framingOf(request);
  const outgoing = sendRequest({
    createConnection: () => upstream,
    method: request.method ?? "GET",
    path: target.path,
    headers: [
      "Host",
      target.port === 80 ? target.host : `${target.host}:${target.port}`,
      ...forwardedHeaders(request.rawHeaders, ["host", "content-length"]),
      ...framing,
      "Connection",
      "close",
    ],
    maxHeaderSize: headerBytes,
    insecureHTTPParser: false,
  });
  const { promise: answer, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.once("response", resolve);
  outgoing.on("error", reject);
  let interim = 0;
  outgoing.on("information", () => {
    interim += 1;
    connection.charge();
    if (interim > INTERIM_ANSWERS) outgoing.destroy(new Error("too many interim answers"));
  });
  // If the host switches protocols the request closes without an error.
  outgoing.once("close", () => reject(new Error("the connection was closed")));
  if (framing.length > 0) connection.pass(request, outgoing);
  else {
    request.resume();
    outgoing.end();
  }
  let incoming: IncomingMessage;
  try {
    incoming = await answer;
    response.sendDate = false;
    response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage, [
      ...forwardedHeaders(incoming.rawHeaders),
      "Connection",
      "close",
    ]);
  } catch (error) {
    upstream.destroy();
    const reason = (error as { readonly code?: string }).code ?? (error as Error).message;
    throw new EgressRefusal(502, "No Answer", `${target.host} sent no valid answer: ${reason}.`, "failed");
  }
  incoming.once("close", () => {
    if (incoming.complete) return;
    connection.end("failed", "The host broke off the connection.");
    connection.client.destroy();
  });
  response.once("finish", () => connection.end("done"));
  connection.pass(incoming, response);
}

/** The header that says where the body ends, as name and value; empty if there is no body. */
function framingOf({ headers }: IncomingMessage): readonly string[] {
  const { "transfer-encoding": coding, "content-length": length } = headers;
  if (coding === undefined) return length === undefined ? [] : ["Content-Length", length];
  if (coding.toLowerCase() !== "chunked")
    throw new EgressRefusal(400, "Bad Request", "The only transfer coding allowed for a body is chunked.");
  return ["Transfer-Encoding", "chunked"];
}

/** Headers of one connection only, and transfer codings, which the proxy sets anew for the next connection. */
const OF_ONE_CONNECTION = new Set(
  "connection keep-alive proxy-connection proxy-authenticate proxy-authorization proxy-authentication-info te trailer transfer-encoding upgrade expect http2-settings".split(
    " ",
  ),
);

/** The headers of a message that are forwarded, as a list of alternating names and values, like node's `rawHeaders`. */
function forwardedHeaders(rawHeaders: readonly string[], besides: readonly string[] = []): string[] {
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), name, rawHeaders[index + 1] ?? ""] as const] : [],
  );
  const named = pairs
    .filter(([lower]) => lower === "connection")
    .flatMap(([, , value]) => value.split(",").map((word) => word.trim().toLowerCase()))
    // Dropping one of these at a client's request would leave the body without an end, or the request without a host.
    .filter((word) => word !== "content-length" && word !== "host");
  const dropped = new Set([...OF_ONE_CONNECTION, ...named, ...besides]);
  return pairs.flatMap(([lower, name, value]) => (dropped.has(lower) ? [] : [name, value]));
}
