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
  ignore,
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
export interface HandledRequest {
  readonly id: unknown;
  readonly signal: AbortSignal;
}

export interface StdioStreams {
  readonly input: Readable;
  /** Writes to standard output, and resolves when it has been passed on. */
  readonly write: (text: string) => Promise<void>;
}

export type StdioTransport = ReturnType<typeof stdioTransport>;

/**
 * A client on the standard streams: a message is a line. It reads from its making on, so that the end of a client is
 * seen before the door is open.
 */
export function stdioTransport({ input, write }: StdioStreams) {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const answers = answerTurns();
  const queue = new Queue();
  const read = () => void readWaiting(queue, input, transport);
  const take = (line: string) => {
    if (queue.add(line)) input.pause();
    read();
  };
  const tooLong = (line: LongLine) =>
    refuse(transport, answeredBy(line), `A message may have at most ${MESSAGE_BYTES} bytes.`);
  const reader = new LineReader(() => MESSAGE_BYTES, take, tooLong);
  const onData = (chunk: Buffer) => reader.push(chunk);
  const transport = {
    onmessage: undefined as Transport["onmessage"],
    onerror: undefined as Transport["onerror"],
    onclose: undefined as Transport["onclose"],
    /** Resolves when the client has closed the stream, or cannot be written to any more. */
    ended,
    async start(): Promise<void> {
      queue.isHeld = false;
      read();
    },
    async send(message: JSONRPCMessage): Promise<void> {
      if (queue.isClosed) throw new Error("The client has gone.");
      const text = `${JSON.stringify(message)}\n`;
      const bytes = text.length + MESSAGE_EXTRA;
      queue.unreadBytes += bytes;
      if (queue.unreadBytes > UNREAD_BYTES) input.pause();
      try {
        await write(text);
      } catch (error) {
        void transport.close();
        throw error;
      } finally {
        queue.unreadBytes -= bytes;
        if (!("method" in message)) answers.sent(message.id);
        read();
      }
    },
    /** Resolves when the client has read the answer before: an answer that may be large is made then. */
    answerTurn: answers.take,
    async close(): Promise<void> {
      if (queue.isClosed) return;
      queue.isClosed = true;
      input.off("data", onData).pause();
      end();
      transport.onclose?.();
    },
  };
  input.on("data", onData);
  for (const event of ["end", "close", "error"]) input.once(event, () => void transport.close());
  return transport;
}

/** Lines that are not read yet, and what the client has not read. */
class Queue {
  readonly #lines: string[] = [];
  bytes = 0;
  /** Before the start, and while a message is read. */
  isHeld = true;
  isClosed = false;
  unreadBytes = 0;
  /** Bytes of messages that were passed on while the client had answers to read: the protocol's package may keep them. */
  #passedBytes = 0;

  /** Returns whether the client must wait. */
  add(line: string): boolean {
    if (this.isClosed || line.trim() === "") return false;
    this.#lines.push(line);
    this.bytes += line.length + MESSAGE_EXTRA;
    return this.bytes > WAITING_BYTES;
  }

  /** The next line; undefined while none is to be read. */
  next(): string | undefined {
    if (this.unreadBytes === 0) this.#passedBytes = 0;
    const line = this.isClosed || this.#passedBytes > WAITING_BYTES ? undefined : this.#lines.shift();
    const bytes = line === undefined ? 0 : line.length + MESSAGE_EXTRA;
    this.bytes -= bytes;
    this.#passedBytes += bytes;
    return line;
  }
}

/** Reads messages one after the other: a client means them in its order. */
async function readWaiting(queue: Queue, input: Readable, transport: Transport): Promise<void> {
  if (queue.isHeld) return;
  queue.isHeld = true;
  for (let line = queue.next(); line !== undefined; line = queue.next()) {
    const reading = readClientJson("message", asUntrusted(line), READER);
    // A short message is passed on at once.
    const read = reading instanceof Promise ? await reading : reading;
    if (!read.ok) refuse(transport, read.fault === "syntax" ? undefined : answeredBy(endsOfLine(line)), read.message);
    else if (!queue.isClosed) pass(transport, read.value);
  }
  queue.isHeld = false;
  const isRead = queue.unreadBytes <= UNREAD_BYTES && queue.bytes <= WAITING_BYTES;
  if (!queue.isClosed && isRead && input.isPaused()) input.resume();
}

/** Refuses a message, if its id is known. */
function refuse(
  { onerror, send }: Pick<Transport, "onerror" | "send">,
  id: string | number | undefined,
  message: string,
) {
  onerror?.(new Error(message));
  if (id !== undefined) send({ jsonrpc: "2.0", id, error: { code: INVALID_REQUEST, message } }).catch(ignore);
}

/** The protocol's package checks the rest. */
function pass(transport: Pick<Transport, "onmessage" | "onerror" | "send">, value: unknown): void {
  const fault = frameFault(value);
  if (fault !== undefined) refuse(transport, idOf(value), fault);
  else if (isMessage(value)) transport.onmessage?.(value);
  else refuse(transport, undefined, "The client has sent a line that is no message.");
}

/** Turns of answers, each of which ends when its answer has been sent, or its request is cancelled. */
function answerTurns() {
  const places = new Places({ atOnce: 1 });
  /** Ends the turn of the request with this id. */
  let current: { readonly id: unknown; readonly end: Release } | undefined;
  return {
    take: async ({ id, signal }: HandledRequest): Promise<void> => {
      const release = await places.take("", signal);
      if (!release) return;
      const end = () => {
        if (current?.end === end) current = undefined;
        release();
      };
      current = { id, end };
      signal.addEventListener("abort", end, { once: true });
      if (signal.aborted) end();
    },
    sent(id: unknown): void {
      if (current?.id === id) current?.end();
    },
  };
}

function isMessage(value: unknown): value is JSONRPCMessage {
  return (
    isFields(value) && Object.hasOwn(value, "jsonrpc") && (Object.hasOwn(value, "method") || Object.hasOwn(value, "id"))
  );
}
