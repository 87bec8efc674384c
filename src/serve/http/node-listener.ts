import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { after, nextTick, nextTurn, ignore } from "../../base/index.ts";
import { problemOf, problemResponse } from "./problems.ts";

/** How long the rest of a refused body is read. */
const DISCARD_MS = 5000;
/** Methods that a web-standard `Request` cannot have. */
const NO_REQUEST: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

/** Requests of a connection that wait for their answers, from which on no further one is read: few clients send a second one. */
const UNANSWERED = 32;

/**
 * Holds each request as long as the signal that it was made with. The signal that a request gives is aborted by that one only
 * while the request itself is held, and what waits for it may hold no more than the signal.
 */
const linked = new WeakMap<AbortSignal, Request>();

export type Fetch = (request: Request) => Promise<Response>;

export interface ListenerOptions {
  /** How long a client may leave an answer unread, in milliseconds. After that its connection is ended. */
  readonly idleMs: number;
  readonly onError: (error: unknown) => void;
}

/** Serves node's requests by a web-standard function. A client that leaves aborts the request's signal. */
export function nodeListener(fetch: Fetch, options: ListenerOptions): RequestListener {
  const unanswered = new WeakMap<Socket, number>();
  return (incoming, outgoing) => {
    readFewer(unanswered, incoming, outgoing);
    serve(fetch, incoming, outgoing, options).catch((error: unknown) => {
      options.onError(error);
      outgoing.destroy();
    });
  };
}

/** A client may send any number of requests before it reads an answer. What was read together is still served. */
function readFewer(unanswered: WeakMap<Socket, number>, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { httpVersionMajor, socket } = incoming;
  // HTTP/2 bounds them itself, and its sockets are not for others to pause.
  if (httpVersionMajor > 1) return;
  const count = () => unanswered.get(socket) ?? 0;
  const pause = () => {
    if (count() > UNANSWERED) socket.pause();
  };
  unanswered.set(socket, count() + 1);
  // Once a request is read, node resumes its socket.
  if (count() > UNANSWERED) nextTick(pause);
  outgoing.once("close", () => {
    unanswered.set(socket, count() - 1);
    if (count() <= UNANSWERED && socket.isPaused()) socket.resume();
  });
}

async function serve(
  fetch: Fetch,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { idleMs, onError }: ListenerOptions,
): Promise<void> {
  const disconnect = new AbortController();
  outgoing.on("error", () => {});
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) disconnect.abort(new Error("The client has left."));
  });
  const response = NO_REQUEST.has(incoming.method ?? "")
    ? problemResponse({ code: "method_unknown", message: "Requests with this method are not answered." })
    : await answer(fetch, incoming, disconnect.signal, onError);
  if (outgoing.destroyed) return void response.body?.cancel().catch(ignore);
  outgoing.writeHead(response.status, [...response.headers].flat());
  if (response.body) await pass(response.body, outgoing, { disconnect: disconnect.signal, idleMs });
  if (incoming.complete) return void outgoing.end();
  const discarded = discard(incoming);
  // With its end, a connection that is not kept is reset while the client still sends, and the answer is lost.
  if (!outgoing.shouldKeepAlive) await discarded;
  outgoing.end();
}

/** A body that was read before would arrive here as an empty body, which its client did not send. */
async function answer(
  fetch: Fetch,
  incoming: IncomingMessage,
  disconnect: AbortSignal,
  onError: (error: unknown) => void,
): Promise<Response> {
  if (!incoming.readableDidRead) return fetch(requestOf(incoming, disconnect));
  const error = new Error(READ_BEFORE);
  onError(error);
  return problemResponse(problemOf(error));
}

const READ_BEFORE =
  "The body of a request was read before Portcullis had it: mount it before what reads bodies, like express.json().";

/** Reads the rest of a refused body: many clients read the answer only after they have sent all. */
async function discard(incoming: IncomingMessage): Promise<void> {
  using _ = after(DISCARD_MS, () => incoming.destroy()).unref();
  incoming.resume();
  await firstOf(incoming, ["end", "close"]).catch(ignore);
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  const hasBody = method !== "GET" && method !== "HEAD";
  // The client's name for this host is in the headers, and is checked there.
  const address = new URL("http://localhost");
  const query = url.indexOf("?");
  // Clients that think of this server as a proxy send the whole address, whose host then counts.
  const whole = /^https?:\/\//i.test(url) ? URL.parse(url) : null;
  if (whole) headers.set("host", whole.host);
  address.pathname = whole?.pathname ?? (query < 0 ? url : url.slice(0, query));
  address.search = whole?.search ?? (query < 0 ? "" : url.slice(query));
  const request = new Request(address, {
    method,
    headers,
    signal,
    ...(hasBody && { body: bodyOf(incoming), duplex: "half" }),
  });
  linked.set(signal, request);
  return request;
}

/** The body is read on demand: most refused requests are refused by their headers. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const cancelled = new AbortController();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const part = await nextPart(incoming, cancelled.signal);
        if (part) controller.enqueue(part);
        else controller.close();
      },
      cancel: () => cancelled.abort(),
    },
    { highWaterMark: 0 },
  );
}

/**
 * What has arrived of a body, in one buffer; undefined at its end. A client may send a body as millions of chunks of one
 * byte, and each part costs some 30 µs on its way to its reader. So all chunks of a turn of the event loop are one part.
 */
async function nextPart(incoming: IncomingMessage, signal: AbortSignal): Promise<Buffer | undefined> {
  for (;;) {
    const part = incoming.read() as Buffer | null;
    if (part) return part;
    if (incoming.readableEnded || signal.aborted) return undefined;
    if (incoming.destroyed) throw incoming.errored ?? new Error("The client has left.");
    // There may be more to read, or nothing more will come. An error of the body is seen where it is read.
    await firstOf(incoming, ["readable", "end", "close"], signal).catch(ignore);
    await nextTurn();
  }
}

/** Resolves at the first of these events. Leaves no listener behind: a body flows only without one. */
async function firstOf(
  of: IncomingMessage | ServerResponse,
  events: readonly string[],
  ...cancelled: readonly AbortSignal[]
): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, ...cancelled]);
  try {
    await Promise.race(events.map((event) => once(of, event, { signal })));
  } finally {
    over.abort();
  }
}

async function pass(
  body: ReadableStream<Uint8Array>,
  outgoing: ServerResponse,
  { disconnect, idleMs }: { readonly disconnect: AbortSignal; readonly idleMs: number },
): Promise<void> {
  const reader = body.getReader();
  const cancel = () => void reader.cancel(disconnect.reason).catch(ignore);
  disconnect.addEventListener("abort", cancel, { once: true });
  if (disconnect.aborted) cancel();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || disconnect.aborted) return;
    if (outgoing.write(value)) continue;
    // Ends the connection of a client that reads nothing for so long.
    using _ = after(idleMs, () => outgoing.destroy());
    await firstOf(outgoing, ["drain", "close"]);
  }
}
