import { type IncomingMessage, request as sendRequest, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { EgressConnection } from "./egress-connection.ts";
import { EgressRefusal } from "./egress-refusal.ts";
import { forwardedHeaders } from "./forwarded-headers.ts";
import type { Target } from "./request-target.ts";

/** One request on its way to a host, over a connection of its own. */
export interface Forwarding {
  readonly connection: EgressConnection;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  readonly path: string;
  readonly upstream: Socket;
  readonly headerBytes: number;
}

/**
 * Passes a request on, written anew: `Host` is where it goes, whatever the client wrote, and where the body ends is said
 * in one way. Rejects with an `EgressRefusal` where there is no answer.
 */
export async function forwardRequest(forwarding: Forwarding): Promise<void> {
  const { connection, request, response, target, path, upstream, headerBytes } = forwarding;
  const framing = framingOf(request);
  const outgoing = sendRequest({
    createConnection: () => upstream,
    method: request.method ?? "GET",
    path,
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
  // An upstream that switches protocols is left without an error.
  outgoing.once("close", () => reject(new Error("it broke off")));
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
    const why = (error as { readonly code?: string }).code ?? (error as Error).message;
    throw new EgressRefusal(502, "No Answer", `${target.host} gave no answer that can be read: ${why}.`, "failed");
  }
  incoming.once("close", () => {
    if (incoming.complete) return;
    connection.end("failed", "The host ended it in the middle.");
    connection.client.destroy();
  });
  response.once("finish", () => connection.end("done"));
  connection.pass(incoming, response);
}

/** How the body is written, in the header that says where it ends; nothing where there is none. */
function framingOf({ headers }: IncomingMessage): readonly string[] {
  const { "transfer-encoding": coding, "content-length": length } = headers;
  if (coding === undefined) return length === undefined ? [] : ["Content-Length", length];
  if (coding.toLowerCase() !== "chunked")
    throw new EgressRefusal(400, "Bad Request", "A body's only transfer coding may be chunked.");
  return ["Transfer-Encoding", "chunked"];
}
