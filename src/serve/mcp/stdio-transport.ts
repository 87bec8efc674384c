import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import type { Readable } from "node:stream";
import {
  answeredBy,
  endsOfLine,
  isFields,
  LineReader,
  type LongLine,
  Places,
  type Release,
  asUntrusted,
} from "../../base/index.ts";
import { readClientJson } from "../client-json.ts";
import { frameFault, idOf, MESSAGE_BYTES } from "./http/message-frame.ts";

/** Bytes of messages that are held until the door is open, or until the messages before them are read. Above it, reading pauses until then. */
const WAITING_BYTES = 4 * MESSAGE_BYTES;
/** Bytes of messages that the client has not read yet. Above it, nothing more is read from the client. */
const UNREAD_BYTES = 64 * 1024 * 1024;
/** What a message takes beside its text. */
const MESSAGE_EXTRA = 64;

/** The process has this client alone, and reads one message at a time. */
const READER = { tenant: "", hold: () => () => {} };

const INVALID_REQUEST = -32600;

/** A request as its handler has it. */
export interface AnsweredRequest {
  readonly id: unknown;
  readonly signal: AbortSignal;
}

export interface StdioStreams {
  readonly input: Readable;
  /** Writes to standard output, and resolves when it has been passed on. */
  readonly write: (text: string) => Promise<void>;
}

/**
 * A client on the standard streams: a message is a line. It reads from its construction on, so that the end of a client is
 * seen before the door is open.
 */
export class StdioTransport implements Transport {
  onmessage?: Transport["onmessage"] & {};
  onerror?: (error: Error) => void;
  onclose?: () => void;
  /** Resolves when the client has closed the stream, or cannot be written to any more. */
  readonly ended: Promise<void>;
  readonly #streams: StdioStreams;
  readonly #end: () => void;
  readonly #reader = new LineReader(
    () => MESSAGE_BYTES,
    (line) => this.#take(line),
    (line) => this.#refuse(line),
  );
  /** Lines that are not read yet. */
  readonly #waiting: string[] = [];
  #waitingBytes = 0;
  /** Before the start, and while a message is read. */
  #isHeld = true;
  #unreadBytes = 0;
  /** Bytes of messages that were passed on while the client had answers to read: the protocol's package may keep them. */
  #passedBytes = 0;
  readonly #answers = new AnswerTurns();
  #isClosed = false;

  constructor(streams: StdioStreams) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
    this.#streams = streams;
    const { input } = streams;
    input.on("data", this.#onData);
    for (const event of ["end", "close", "error"]) input.once(event, this.#onEnd);
  }

  async start(): Promise<void> {
    this.#isHeld = false;
    void this.#readWaiting();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new Error("The client has gone.");
    const text = `${JSON.stringify(message)}\n`;
    const { input } = this.#streams;
    this.#unreadBytes += text.length + MESSAGE_EXTRA;
    if (this.#unreadBytes > UNREAD_BYTES) input.pause();
    try {
      await this.#streams.write(text);
    } catch (error) {
      this.#onEnd();
      throw error;
    } finally {
      this.#unreadBytes -= text.length + MESSAGE_EXTRA;
      if (!("method" in message)) this.#answers.sent(message.id);
      if (!this.#isHeld) void this.#readWaiting();
    }
  }

  /** Resolves when the client has read the answer before: an answer that may be large is made then. */
  readonly answerTurn = (request: AnsweredRequest): Promise<void> => this.#answers.take(request);

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { input } = this.#streams;
    input.off("data", this.#onData);
    input.pause();
    this.#end();
    this.onclose?.();
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#reader.push(chunk);
  };

  readonly #onEnd = (): void => {
    void this.close();
  };

  #take(line: string): void {
    if (this.#isClosed || line.trim() === "") return;
    this.#waiting.push(line);
    this.#waitingBytes += line.length + MESSAGE_EXTRA;
    if (this.#waitingBytes > WAITING_BYTES) this.#streams.input.pause();
    if (!this.#isHeld) void this.#readWaiting();
  }

  /** Reads messages one after the other: a client means them in its order. */
  async #readWaiting(): Promise<void> {
    this.#isHeld = true;
    for (let line = this.#next(); line !== undefined; line = this.#next()) {
      const reading = readClientJson("message", asUntrusted(line), READER);
      // A short message is passed on at once.
      const read = reading instanceof Promise ? await reading : reading;
      if (read.ok) this.#pass(read.value);
      else if (read.fault === "syntax") this.onerror?.(new Error(NO_MESSAGE));
      else this.#answer(answeredBy(endsOfLine(line)), read.message);
    }
    this.#isHeld = false;
    this.#resume();
  }

  /** The next line; undefined while none is to be read. */
  #next(): string | undefined {
    if (this.#unreadBytes === 0) this.#passedBytes = 0;
    const line = this.#isClosed || this.#passedBytes > WAITING_BYTES ? undefined : this.#waiting.shift();
    if (line === undefined) return undefined;
    const bytes = line.length + MESSAGE_EXTRA;
    this.#waitingBytes -= bytes;
    this.#passedBytes += bytes;
    return line;
  }

  /** The protocol's package checks the rest. */
  #pass(value: unknown): void {
    if (this.#isClosed) return;
    const fault = frameFault(value);
    if (fault !== undefined) this.#answer(idOf(value), fault);
    else if (isMessage(value)) this.onmessage?.(value);
    else this.onerror?.(new Error(NO_MESSAGE));
  }

  #resume(): void {
    const { input } = this.#streams;
    const isRead = this.#unreadBytes <= UNREAD_BYTES && this.#waitingBytes <= WAITING_BYTES;
    if (!this.#isClosed && isRead && input.isPaused()) input.resume();
  }

  #refuse(line: LongLine): void {
    this.#answer(answeredBy(line), `A message may have at most ${MESSAGE_BYTES} bytes.`);
  }

  /** Refuses a message, if its id is known. */
  #answer(id: string | number | undefined, message: string): void {
    this.onerror?.(new Error(message));
    if (id === undefined) return;
    this.send({ jsonrpc: "2.0", id, error: { code: INVALID_REQUEST, message } }).catch(() => {});
  }
}

/** Turns of answers, each of which ends when its answer has been sent, or its request is cancelled. */
class AnswerTurns {
  readonly #places = new Places({ atOnce: 1 });
  /** Ends the turn of the request with this id. */
  #current: { readonly id: unknown; readonly end: Release } | undefined;

  async take({ id, signal }: AnsweredRequest): Promise<void> {
    const release = await this.#places.take("", signal);
    if (!release) return;
    const end = () => {
      if (this.#current?.end === end) this.#current = undefined;
      release();
    };
    this.#current = { id, end };
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
  }

  sent(id: unknown): void {
    if (this.#current && this.#current.id === id) this.#current.end();
  }
}

const NO_MESSAGE = "The client has sent a line that is no message.";

function isMessage(value: unknown): value is JSONRPCMessage {
  return (
    isFields(value) && Object.hasOwn(value, "jsonrpc") && (Object.hasOwn(value, "method") || Object.hasOwn(value, "id"))
  );
}
