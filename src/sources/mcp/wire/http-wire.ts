import { AsyncLocalStorage } from "node:async_hooks";
import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  after,
  ByteList,
  cancel,
  EventCutter,
  pause,
  PortcullisError,
  type Timer,
  ignore,
} from "../../../base/index.ts";
import { NoAccess, wordsIn, refusalWords } from "../auth/no-access.ts";
import {
  type McpPackage,
  ConnectionLost,
  MalformedMessage,
  type Message,
  type MessageId,
  MessageTooLarge,
  type WireOptions,
  type Wire,
  type WireEvents,
  reasonOf,
} from "./wire.ts";
import { LargeMessages, asPackageReads } from "./large-messages.ts";

const ERROR_BODY_BYTES = 64 * 1024;
/** How long a server may take to hear that its session is over, in milliseconds. */
const GOODBYE_MS = 500;
/** Statuses by which a server says that it has taken a message and will not answer it. */
const UNANSWERED = new Set([202, 204]);
const LAST_THAT_RESUMES = "2025-11-25";
/** Waits before a stream that could not be resumed is asked for again, unless the server says how long. */
const RESUMING = {
  initialReconnectionDelay: 1000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 5,
} as const;
/** Statuses of 400 to 499 by which a server does not say that it will not give the rest of a stream. */
const NOT_FINAL = new Set([405, 408, 429]);
const EVENT_ID_LENGTH = 4096;

/** Wait before a broken stream is asked for again, in milliseconds. A call does not wait for a server that wants more. */
const RESUME_MS = { least: 100, ofNotifications: 1000, most: 60_000 } as const;

/** What a response with an error's status says of itself. */
interface Refusal {
  /** Why, in the server's own words. */
  readonly reason?: string | undefined;
  /** Whether the server asks for other credentials. */
  readonly isChallenge?: boolean;
}

/** One request over HTTP and its reply, which may come in several streams. */
interface Exchange {
  readonly id: MessageId | undefined;
  /** Whether the reply is a document, which holds the answer if there is any. */
  isDocument: boolean;
  /** Id of the event after which its stream was resumed last. */
  lastEvent?: string | undefined;
  /** Of its latest request, if that was refused. */
  refusal?: Refusal;
  /** Why there will be no answer, if that is known: the first reason. */
  ended?: Error;
}

/** Notes why there will be no answer. The first reason holds. */
function ended(exchange: Exchange | undefined, why: Error): Error {
  return exchange ? (exchange.ended ??= why) : why;
}

function lostIn({ ended }: Exchange): Error {
  return ended ?? new ConnectionLost("The reply ended without an answer.");
}

/** How requests get their tokens: of a function, or of OAuth. */
export interface Access {
  /** Of the next request; undefined for none. */
  token(): string | undefined | Promise<string | undefined>;
  /** Another token after the server has refused one by this response, to send the request once more with; undefined for none. */
  refused(token: string | undefined, response: Response, signal: AbortSignal): Promise<string | undefined>;
}

export interface HttpAddress {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly access?: Access | undefined;
}

/** A server behind Streamable HTTP. Each request is an exchange of its own. */
export class HttpWire implements Wire {
  readonly hasExchanges = true;
  readonly #mcp: McpPackage;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #exchanges = new AsyncLocalStorage<Exchange>();
  readonly #access: Access | undefined;
  readonly #large: LargeMessages;
  /** What was said with errors of the package. */
  readonly #refusals = new WeakMap<Error, Refusal>();
  #latestRefusal: Refusal | undefined;
  #events: WireEvents | undefined;
  #transport: StreamableHTTPClientTransport | undefined;
  #resumes = true;
  readonly #resuming = new Set<Timer>();

  constructor(mcp: McpPackage, { url, headers = {}, access }: HttpAddress) {
    this.#mcp = mcp;
    this.#url = new URL(url);
    this.#headers = headers;
    this.#access = access;
    this.#large = new LargeMessages(this.#url.host);
  }

  get hasSession(): boolean {
    return this.#transport?.sessionId !== undefined;
  }

  async start(events: WireEvents): Promise<void> {
    this.#events = events;
    const transport = new this.#mcp.StreamableHTTPClientTransport(this.#url, {
      fetch: (input, init) => this.#fetch(input, init),
      redirectPolicy: "same-origin",
      reconnectionOptions: RESUMING,
      reconnectionScheduler: (reconnect, delayMs) => this.#resumeLater(reconnect, delayMs),
    });
    this.#transport = transport;
    Object.assign(transport, {
      onmessage: (message: unknown) => events.onMessage(this.#large.whole(message)),
      onclose: () => events.onClosed("closed"),
      onerror: (error: unknown) => {
        const exchange = this.#exchanges.getStore();
        if (isUnreadable(error)) ended(exchange, unreadable(error));
      },
    });
    await transport.start();
  }

  /** Rejects if the request was not answered at all. What happens to its reply later is told by `onFailed`. */
  async send(message: Message, { signal, headers }: WireOptions): Promise<void> {
    const transport = this.#transport!;
    const events = this.#events!;
    const id = "method" in message ? (message.id as MessageId | undefined) : undefined;
    const exchange: Exchange = { id, isDocument: false };
    const onRequestStreamEnd = () => events.onFailed(id, lostIn(exchange));
    try {
      await this.#exchanges.run(exchange, () =>
        transport.send(message as never, {
          requestSignal: signal,
          headers,
          onRequestStreamEnd: id === undefined ? undefined : onRequestStreamEnd,
        }),
      );
    } catch (error) {
      if (exchange.refusal && error instanceof Error) this.#refusals.set(error, exchange.refusal);
      throw exchange.ended ?? error;
    }
    if (id !== undefined && exchange.isDocument)
      events.onFailed(id, new MalformedMessage("The reply does not answer the request."));
  }

  setProtocolVersion(version: string): void {
    // From the version after this one on, the end of a stream is the end of its request.
    this.#resumes = version <= LAST_THAT_RESUMES;
    this.#transport?.setProtocolVersion(version);
  }

  async close(): Promise<void> {
    const transport = this.#transport;
    for (const timer of this.#resuming) cancel(timer);
    if (!transport) return;
    // The server is told that its session is over; a server that does not answer will find out.
    if (this.hasSession) {
      const goodbye = transport.terminateSession().catch(ignore);
      await Promise.race([goodbye, pause(GOODBYE_MS, { ref: false })]);
    }
    await transport.close();
  }

  currentRequest(): MessageId | undefined {
    return this.#exchanges.getStore()?.id;
  }

  async #fetch(input: string | URL, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    const isGoodbye = init.method === "DELETE";
    const exchange = isGoodbye ? undefined : this.#exchanges.getStore();
    const resumed = init.method === "GET" && exchange?.id !== undefined ? exchange : undefined;
    // The package forgets the id of a stream whose rest broke off before another one.
    const lastEvent = headers.get("last-event-id") ?? resumed?.lastEvent ?? "";
    if (resumed) resumed.lastEvent = lastEvent;
    if (lastEvent !== "") headers.set("last-event-id", lastEvent);
    if (lastEvent.length > EVENT_ID_LENGTH)
      throw ended(exchange, new MalformedMessage("The id of an event is too long to resume its stream."));
    const response = await this.#ask(new URL(input), { ...init, headers }, !isGoodbye);
    if (exchange && !response.ok)
      this.#latestRefusal = exchange.refusal = {
        reason: this.#challengeOf(response),
        isChallenge: response.headers.has("www-authenticate"),
      };
    const { status } = response;
    if (status >= 400 && status < 500 && !NOT_FINAL.has(status))
      ended(resumed, this.#refusal(status, resumed?.refusal));
    const isStream = response.ok && /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
    if (exchange && response.ok && (!isStream || UNANSWERED.has(status))) exchange.isDocument = true;
    return this.#bounded(response, isStream, exchange);
  }

  /** Sends a request, once more with another token if the server does not take the first. */
  async #ask(url: URL, init: RequestInit & { readonly headers: Headers }, renews: boolean): Promise<Response> {
    // Redirects are followed within the origin only. This check does not rely on that.
    const isOwn = url.origin === this.#url.origin;
    const access = isOwn ? this.#access : undefined;
    const send = (token: string | undefined) => {
      if (token !== undefined) init.headers.set("authorization", `Bearer ${token}`);
      if (isOwn) for (const [name, value] of Object.entries(this.#headers)) init.headers.set(name, value);
      return fetch(url, init);
    };
    const token = await access?.token();
    const response = await send(token);
    const isRefused = response.status === 401 || this.#challengeOf(response)?.startsWith("insufficient_scope");
    if (!access || !renews || !isRefused) return response;
    const signal = init.signal ?? new AbortController().signal;
    const next = await access.refused(token, response, signal);
    if (next === undefined) return response;
    await response.body?.cancel();
    return send(next);
  }

  /** What a response says in its header of why it refuses the request. */
  #challengeOf(response: Response): string | undefined {
    const { error, errorDescription, scope } = this.#mcp.extractWWWAuthenticateParams(response);
    return error === undefined ? undefined : refusalWords({ error, error_description: errorDescription, scope });
  }

  /** Has the package ask for the rest of a broken stream by the id of its last event, not too soon; a call ends by its own time. */
  #resumeLater(reconnect: () => void, delayMs: number): () => void {
    const exchange = this.#exchanges.getStore();
    const isRequest = exchange?.id !== undefined;
    if (isRequest && (!this.#resumes || exchange.ended || delayMs > RESUME_MS.most)) {
      this.#events!.onFailed(exchange.id, lostIn(exchange));
      return () => {};
    }
    const leastMs = isRequest ? RESUME_MS.least : RESUME_MS.ofNotifications;
    const waitMs = Math.min(RESUME_MS.most, Math.max(leastMs, delayMs));
    const timer = after(waitMs, () => {
      this.#resuming.delete(timer);
      reconnect();
    }).unref();
    this.#resuming.add(timer);
    return () => cancel(timer);
  }

  /** The reply, which ends with an error if a message in it is too large. */
  #bounded(response: Response, isStream: boolean, exchange: Exchange | undefined): Response {
    if (!response.body) return response;
    const allowed = () => this.#events!.allowed();
    const events = new EventCutter();
    const document = new ByteList();
    type Output = TransformStreamDefaultController<Uint8Array>;
    const refuse = (output: Output, error: unknown) => {
      output.error(error instanceof Error ? ended(exchange, error) : error);
    };
    const give = async (whole: Uint8Array, output: Output) => {
      try {
        output.enqueue(await asPackageReads(whole, isStream, this.#large, allowed));
      } catch (error) {
        refuse(output, error);
      }
    };
    const bounding = new TransformStream<Uint8Array, Uint8Array>({
      async transform(chunk, output) {
        // Events and documents are passed on as wholes: what is bounded is a message, and not how many parts it came in.
        const whole = isStream ? events.push(chunk) : [];
        if (!isStream) document.add(chunk);
        const { bytes } = allowed();
        if (!response.ok && document.bytes > ERROR_BODY_BYTES) {
          output.enqueue(document.take().subarray(0, ERROR_BODY_BYTES));
          output.terminate();
        } else if (Math.max(events.heldBytes, document.bytes, ...whole.map((one) => one.byteLength)) > bytes)
          refuse(output, new MessageTooLarge(bytes, "bytes"));
        else for (const one of whole) await give(one, output);
      },
      async flush(output) {
        const rest = isStream ? events.end() : document.take();
        if (rest.byteLength === 0) return;
        if (response.ok) await give(rest, output);
        else output.enqueue(rest);
      },
    });
    const { status, statusText, headers } = response;
    const bounded = new Response(response.body.pipeThrough(bounding), { status, statusText, headers });
    // The transport follows redirects itself, from the address of the reply.
    Object.defineProperty(bounded, "url", { value: response.url });
    return bounded;
  }

  #refusal(status: number, about?: Refusal): SessionEnded | HttpRefusal {
    if (status === 404 && this.hasSession) return new SessionEnded("The server has ended the session.");
    return new HttpRefusal(status, about);
  }

  explain(error: unknown): unknown {
    // Of the refusal of its own request the package may have made another error.
    return this.#explained(error, (error instanceof Error && this.#refusals.get(error)) || this.#latestRefusal);
  }

  #explained(error: unknown, about: Refusal = {}): unknown {
    const { SdkHttpError, SdkErrorCode, SdkError, InsufficientScopeError } = this.#mcp;
    if (KNOWN.some((errorClass) => error instanceof errorClass) || PortcullisError.is(error)) return error;
    if (error instanceof InsufficientScopeError) return new HttpRefusal(403, about);
    if (error instanceof SdkHttpError) {
      const { status, text } = error.data;
      const { reason = typeof text === "string" ? wordsIn(text) : undefined } = about;
      return this.#refusal(status, { ...about, reason });
    }
    if (isUnreadable(error)) return unreadable(error);
    if (error instanceof SdkError) {
      if (error.cause !== undefined) return this.#explained(error.cause, about);
      return error.code === SdkErrorCode.ClientHttpUnexpectedContent
        ? new MalformedMessage("The reply has an unexpected type.", { cause: error })
        : error;
    }
    return new ConnectionLost(error instanceof Error ? reasonOf(error) : "The connection broke off.", { cause: error });
  }
}

/** Whether a message is no JSON, too deep for the package, or breaks its schemas. Its call may have been made. */
function isUnreadable(error: unknown): boolean {
  return (
    error instanceof SyntaxError ||
    error instanceof RangeError ||
    (error instanceof Error && error.constructor.name.includes("Zod"))
  );
}

function unreadable(cause: unknown): MalformedMessage {
  return new MalformedMessage("A message of the server cannot be read.", { cause });
}

/** The server has forgotten the session. */
export class SessionEnded extends ConnectionLost {}

/** The server refused a request by its status. */
export class HttpRefusal extends Error {
  override readonly name = "HttpRefusal";
  readonly status: number;
  readonly reason: string | undefined;
  /** Whether it may be the session, and not the request or the access, that the server does not take. */
  readonly mayBeSession: boolean;

  constructor(status: number, { reason, isChallenge }: Refusal = {}) {
    super(`The server answered with the status ${status}.`);
    this.status = status;
    this.reason = reason;
    this.mayBeSession = status >= 400 && status <= 500 && status !== 408 && status !== 429 && !isChallenge;
  }
}

/** Errors that say already what has become of a request. */
const KNOWN = [MessageTooLarge, ConnectionLost, MalformedMessage, NoAccess, HttpRefusal] as const;
