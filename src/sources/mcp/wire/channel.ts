import { addAbortListener, setMaxListeners } from "node:events";
import type { Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import type { Ask } from "../elicitation.ts";
import {
  ConnectionLost,
  MalformedMessage,
  type Message,
  type MessageId,
  type MessageLimits,
  type Wire,
  dropNulls,
} from "./wire.ts";
import { isFields, PARSED_VALUES, sizeFault, ignore } from "../../../base/index.ts";

/** What a message may have that answers none of our own requests. */
const LEAST: MessageLimits = { bytes: 4 * 1024 * 1024, values: PARSED_VALUES, largeValues: 0 };

/** Levels of a message on which null is nothing: below its result, it may be data. The package reads all that it takes by schemas. */
const LEVELS = { own: 2, package: 50 } as const;

/** What answers to requests of the server may hold until they are sent, one after the other, and one beside its id. A server that asks for more is left. */
const [UNSENT_BYTES, ANSWER_BYTES] = [16 * 1024 * 1024, 16 * 1024];

/** JSON-RPC's code of an error inside of a peer. */
const INTERNAL_ERROR = -32603;

export interface RequestOptions {
  readonly signal: AbortSignal;
  /** What the answer may have. */
  readonly limits: Partial<MessageLimits>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Decides about a question that the server asks before it answers. */
  readonly ask?: Ask;
  /** Fields of every request of the protocol version that was agreed on. */
  readonly envelope: Message | undefined;
}

interface OpenRequest extends Pick<RequestOptions, "limits" | "ask"> {
  readonly method: string;
  readonly resolve: (result: Message) => void;
  readonly reject: (error: Error) => void;
}

const TOLD_DATA = { depth: 100, values: 1000, characters: 64 * 1024 };

/** The server answered with an error of the protocol. */
export class ProtocolFailure extends Error {
  override readonly name = "ProtocolFailure";
  readonly code: number;

  /** `data` says which part of a request was wrong. */
  constructor(code: number, message: string, data?: unknown) {
    super(data === undefined ? message : `${message} ${dataText(data)}`);
    this.code = code;
  }
}

function dataText(data: unknown): string {
  const fault = sizeFault(data, TOLD_DATA);
  if (fault !== undefined) return `(its data ${fault})`;
  return typeof data === "string" ? data : JSON.stringify(data);
}

/**
 * A wire as the package takes a transport, for the handshake, notifications and requests of the server. Lists and calls
 * are made here and pass the package by. The package parses whole results against its own schemas, so that one
 * malformed tool would lose the list. It also takes `null` and `"0"` for ids, and does not notice a reply that breaks
 * off.
 */
export class Channel implements Transport {
  readonly #wire: Wire;
  readonly #open = new Map<MessageId, OpenRequest>();
  /** The package's own requests, each with the function that is called when the reply has ended. */
  readonly #packageRequests = new Map<MessageId, (() => void) | undefined>();
  /** Calls on shared streams that were not waited for, until the server answers. */
  readonly #givenUp = new Set<MessageId>();
  #requests = 0;
  #unsentBytes = 0;
  #lastAnswer: Promise<unknown> = Promise.resolve();
  #closed: string | undefined;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  /** Called when the connection is lost, with the reason; not when it is closed here. */
  onLost: (why: string) => void = () => {};
  /** Marks the transport as a process's streams. On these, a server that does not answer the first question is an old server. */
  declare readonly pid?: null;
  declare readonly stderr?: null;

  constructor(wire: Wire) {
    this.#wire = wire;
    if (!wire.hasExchanges) Object.assign(this, { pid: null, stderr: null });
  }

  get hasPerRequestStream(): boolean {
    return this.#wire.hasExchanges;
  }

  get hasSession(): boolean {
    return this.#wire.hasSession === true;
  }

  get isOpen(): boolean {
    return this.#closed === undefined;
  }

  /**
   * Decides about a question of the server, while its message is handled. Undefined if it may be of several calls on shared
   * streams: all that are open, and those that were given up, on which the server may still work.
   */
  get currentAsk(): RequestOptions["ask"] {
    if (this.#wire.hasExchanges) return this.#open.get(this.#wire.currentRequest?.() ?? "")?.ask;
    const [only, ...others] = this.#open.values().filter(({ method }) => method === "tools/call");
    return others.length === 0 && this.#givenUp.size === 0 ? only?.ask : undefined;
  }

  explain(error: unknown): unknown {
    return this.#wire.explain?.(error) ?? error;
  }

  async start(): Promise<void> {
    await this.#wire.start({
      allowed: () => this.#allowed(),
      onMessage: (message) => this.#take(message),
      onFailed: (id, error) => this.#fail(id, error),
      onClosed: (why) => {
        if (this.isOpen) this.onLost(why);
        this.#end(why);
      },
    });
  }

  #allowed(): MessageLimits {
    const all = [LEAST, ...[...this.#open.values()].map(({ limits }) => limits)];
    const most = (field: keyof MessageLimits) => Math.max(...all.map(({ [field]: limit = 0 }) => limit));
    return { bytes: most("bytes"), values: most("values"), largeValues: most("largeValues") };
  }

  async send(message: unknown, { requestSignal, headers, onRequestStreamEnd }: TransportSendOptions = {}) {
    const { id, method } = message as Message;
    if (method !== undefined && id !== undefined) this.#packageRequests.set(id as MessageId, onRequestStreamEnd);
    const send = () => this.#wire.send(message as Message, { signal: requestSignal, headers });
    await (method === undefined ? this.#answer(id, send) : send());
  }

  /** The server decides how many answers it asks for, and how long it takes each. */
  async #answer(id: unknown, send: () => Promise<void>): Promise<void> {
    const bytes = ANSWER_BYTES + 2 * String(id).length;
    if (this.isOpen && this.#unsentBytes + bytes > UNSENT_BYTES) {
      const why = "it asks for more than it takes answers to";
      this.onLost(why);
      this.#end(why);
      void this.close();
    }
    if (this.#closed !== undefined) throw new ConnectionLost(this.#closed);
    this.#unsentBytes += bytes;
    const sent = this.#lastAnswer.then(send);
    this.#lastAnswer = sent.catch(ignore).then(() => (this.#unsentBytes -= bytes));
    await sent;
  }

  setProtocolVersion(version: string): void {
    this.#wire.setProtocolVersion?.(version);
  }

  async close(): Promise<void> {
    this.#end("closed");
    await this.#wire.close();
  }

  /**
   * Sends a request and resolves with its result. Rejects with the signal's reason, a `ProtocolFailure`, or what has
   * become of the wire. An aborted request is cancelled at the server.
   */
  async request(method: string, params: Message, options: RequestOptions): Promise<Message> {
    const { signal, headers, envelope } = options;
    signal.throwIfAborted();
    if (this.#closed !== undefined) throw new ConnectionLost(this.#closed);
    this.#requests += 1;
    const id = `call-${this.#requests}`;
    const { _meta: own } = params;
    const sent = own || envelope ? { ...params, _meta: { ...(own as object | undefined), ...envelope } } : params;
    const message = { jsonrpc: "2.0", id, method, params: sent };
    const answer = Promise.withResolvers<Message>();
    this.#open.set(id, { ...options, ...answer, method });
    const exchange = new AbortController();
    setMaxListeners(0, exchange.signal);
    const onAbort = () => {
      answer.reject(signal.reason instanceof Error ? signal.reason : new Error("The call was cancelled."));
      if (this.#wire.hasExchanges && envelope) exchange.abort();
      else {
        const about = { requestId: id, reason: "The answer is no longer needed." };
        this.#wire.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: about }, {}).catch(ignore);
      }
    };
    using _ = addAbortListener(signal, onAbort);
    this.#wire
      .send(message, { signal: exchange.signal, headers })
      .catch((error: unknown) => answer.reject(this.explain(error)));
    try {
      return await answer.promise;
    } finally {
      if (this.#open.delete(id) && signal.aborted && method === "tools/call" && !this.#wire.hasExchanges)
        this.#givenUp.add(id);
      // A reply that still arrives is not read.
      exchange.abort();
    }
  }

  #take(message: unknown): void {
    if (!isFields(message)) return;
    const { id, method, result, error } = dropNulls(message, LEVELS.own) as Message;
    const toPackage = () => this.onmessage?.(dropNulls(message, LEVELS.package) as never);
    // No request asks for progress, and the package writes what it does not know into an error.
    if (method === "notifications/progress") return;
    if (typeof method === "string") return toPackage();
    const open = this.#open.get(id as MessageId);
    this.#givenUp.delete(id as MessageId);
    if (!open) {
      // An answer to no open request is dropped.
      if (this.#packageRequests.delete(id as MessageId)) toPackage();
      return;
    }
    if (isFields(result)) open.resolve(result);
    else if (isFields(error) && typeof error.code === "number" && typeof error.message === "string")
      open.reject(new ProtocolFailure(error.code, error.message, error.data));
    else open.reject(new MalformedMessage("The answer has neither a result nor an error."));
  }

  #fail(id: MessageId | undefined, error: Error): void {
    if (id !== undefined && this.#packageRequests.has(id)) {
      const onEnd = this.#packageRequests.get(id);
      this.#packageRequests.delete(id);
      if (onEnd) onEnd();
      else this.onmessage?.({ jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message: error.message } });
      return;
    }
    if (id !== undefined) return this.#open.get(id)?.reject(error);
    for (const open of this.#open.values()) open.reject(error);
  }

  #end(why: string): void {
    if (this.#closed !== undefined) return;
    this.#closed = why;
    this.#fail(undefined, new ConnectionLost(why));
    this.onclose?.();
  }
}
