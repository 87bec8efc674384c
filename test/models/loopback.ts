import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** The body as it was sent. */
  readonly text: string;
}

/** One event of a stream as it is written: `event` is a line of its own in some protocols. */
export interface ServerEvent {
  readonly event?: string;
  readonly data: string;
}

export type Given =
  | {
      readonly type: "json";
      readonly status: number;
      readonly body: unknown;
      readonly headers?: Record<string, string>;
    }
  | { readonly type: "text"; readonly body: string }
  | { readonly type: "events"; readonly events: readonly ServerEvent[]; readonly ending: "whole" | "broken" | "open" }
  /** Sends nothing, or nothing after its headers, until the client disconnects. */
  | { readonly type: "silent" }
  | { readonly type: "stalled"; readonly contentType: string };

export interface Loopback extends AsyncDisposable {
  readonly url: string;
  /** Resolves when a client without a complete answer has disconnected. */
  readonly abandoned: Promise<void>;
}

/** A server on this machine, and on no other, that answers what it is told to. */
export async function startLoopback(answer: (asked: Asked) => Given): Promise<Loopback> {
  const { promise: abandoned, resolve: onAbandoned } = Promise.withResolvers<void>();
  let served = 0;
  const server = createServer((request, response) => {
    response.on("close", () => {
      if (!response.writableFinished) onAbandoned();
    });
    void text(request).then((body) => {
      const asked = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body: JSON.parse(body === "" ? "{}" : body) as Record<string, unknown>,
        text: body,
      };
      served += 1;
      for (const name of ["request-id", "x-request-id"]) response.setHeader(name, `req_${served}`);
      give(response, answer(asked));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    abandoned,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function give(response: ServerResponse, given: Given): void {
  switch (given.type) {
    case "json":
      response.writeHead(given.status, { "content-type": "application/json", ...given.headers });
      response.end(JSON.stringify(given.body));
      break;
    case "text":
      response.writeHead(200, { "content-type": "application/json" });
      response.end(given.body);
      break;
    case "events":
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(given.events.map(eventText).join(""), () => {
        if (given.ending === "whole") response.end();
        else if (given.ending === "broken") response.destroy();
      });
      break;
    case "silent":
      break;
    case "stalled":
      response.writeHead(200, { "content-type": given.contentType });
      response.flushHeaders();
      break;
  }
}

/** An event as a server writes it. */
export function eventText({ event, data }: ServerEvent): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`;
}
