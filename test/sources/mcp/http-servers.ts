import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";

export interface HttpServer extends AsyncDisposable {
  readonly url: string;
  /** Headers of each request, in their order. */
  readonly headers: readonly IncomingMessage["headers"][];
}

/** A server on this machine that answers each request in this way. */
export async function serve(
  answer: (request: IncomingMessage, body: Buffer, response: ServerResponse) => unknown,
): Promise<HttpServer> {
  const headers: IncomingMessage["headers"][] = [];
  const server = createServer((request, response) => {
    headers.push(request.headers);
    void buffer(request).then((body) => answer(request, body, response));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    headers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A server whose requests a handler of the `fetch` form answers. */
export function serveFetch(handle: (request: Request) => Promise<Response>): Promise<HttpServer> {
  return serve(async (incoming, body, response) => {
    const request = new Request(`http://127.0.0.1${incoming.url}`, {
      method: incoming.method ?? "GET",
      headers: Object.entries(incoming.headers).map(([name, value]) => [name, String(value)] as [string, string]),
      ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
    });
    const answer = await handle(request);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body)
      Readable.fromWeb(answer.body as never)
        .on("error", () => response.destroy())
        .pipe(response);
    else response.end();
  });
}

interface RpcRequest {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly arguments?: Readonly<Record<string, string>> };
}

/** How a call is answered; `send` writes the answer with this result as the usual document. */
export type AnswerCall = (facts: {
  readonly id: string | number;
  readonly name: string;
  readonly input: Readonly<Record<string, string>>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly send: (result: object) => void;
}) => void;

interface ByHand {
  /** Names the session of a handshake. */
  readonly session?: () => string;
  readonly stream?: (response: ServerResponse, request: IncomingMessage) => unknown;
  /** Whether it has answered a request in a way of its own. */
  readonly refuses?: (request: IncomingMessage, response: ServerResponse, id: unknown) => unknown;
  readonly tools?: readonly string[];
  readonly capabilities?: object;
  /** Results of other methods; one with `failure` is that error. */
  readonly others?: Readonly<Record<string, (params: Readonly<Record<string, string>>) => object>>;
}

/** A server of the old version, written by hand. It has sessions if it names one. */
export function serveByHand(answerCall: AnswerCall, options?: ByHand): Promise<HttpServer> {
  return serve(answerByHand(answerCall, options));
}

/** How such a server answers a request. */
export function answerByHand(
  answerCall: AnswerCall,
  { session, stream, refuses, tools = ["echo", "other"], capabilities = { tools: {} }, others = {} }: ByHand = {},
): Parameters<typeof serve>[0] {
  return (request, body, response) => {
    // The end of a session is never answered: a source closes all the same.
    if (request.method === "DELETE") return;
    if (request.method !== "POST") return stream ? stream(response, request) : response.writeHead(405).end();
    const { id, method = "", params } = JSON.parse(body.toString()) as RpcRequest;
    if (refuses?.(request, response, id)) return;
    if (id === undefined) return response.writeHead(202).end();
    const sessionHeader = session && method === "initialize" ? { "mcp-session-id": session() } : {};
    const send = (result: object) => {
      const answer = "failure" in result ? { error: result.failure } : { result };
      response
        .writeHead(200, { "content-type": "application/json", ...sessionHeader })
        .end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    };
    if (method === "tools/call")
      return answerCall({ id, name: params?.name ?? "", input: params?.arguments ?? {}, request, response, send });
    const inputSchema = { type: "object", properties: { text: { type: "string" } } };
    const results: ByHand["others"] = {
      initialize: () => ({ protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "hand", version: "1" } }),
      "tools/list": () => ({ tools: tools.map((name) => ({ name, inputSchema })) }),
      ping: () => ({}),
      ...others,
    };
    const failure = { code: -32601, message: "Method not found" };
    return send(results[method]?.((params ?? {}) as Readonly<Record<string, string>>) ?? { failure });
  };
}
