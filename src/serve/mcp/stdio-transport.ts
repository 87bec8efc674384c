import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import type { Readable } from "node:stream";
import { LineReader, type LongLine } from "../../sources/mcp/line-reader.ts";
import { answeredBy } from "../../sources/mcp/stdio-wire.ts";
import { MESSAGE_BYTES } from "./message-bytes.ts";

/** Bytes of messages that are held until the door is open. Above it, reading pauses until then. */
const EARLY_BYTES = 4 * MESSAGE_BYTES;
/** Bytes of messages that the client has not read yet. Above it, nothing more is read from the client. */
const UNREAD_BYTES = 64 * 1024 * 1024;
/** What a message takes beside its text. */
const MESSAGE_EXTRA = 64;

const INVALID_REQUEST = -32600;

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
  /** Lines that came before the start. */
  #early: string[] | undefined = [];
  #earlyBytes = 0;
  #unreadBytes = 0;
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
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const line of early) this.#take(line);
    this.#streams.input.resume();
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
      if (!this.#isClosed && this.#unreadBytes <= UNREAD_BYTES && input.isPaused()) input.resume();
    }
  }

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
    if (this.#early) {
      this.#early.push(line);
      this.#earlyBytes += line.length + MESSAGE_EXTRA;
      if (this.#earlyBytes > EARLY_BYTES) this.#streams.input.pause();
      return;
    }
    const message = parse(line);
    if (message) this.onmessage?.(message);
    else this.onerror?.(new Error("The client has sent a line that is no message."));
  }

  #refuse(line: LongLine): void {
    const id = answeredBy(line);
    const message = `A message may have at most ${MESSAGE_BYTES} bytes.`;
    this.onerror?.(new Error(message));
    if (id === undefined) return;
    this.send({ jsonrpc: "2.0", id, error: { code: INVALID_REQUEST, message } }).catch(() => {});
  }
}

/** Undefined for what is no message at all. The protocol's package checks the rest. */
function parse(line: string): JSONRPCMessage | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return isMessage(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

function isMessage(value: unknown): value is JSONRPCMessage {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.hasOwn(value, "jsonrpc") &&
    (Object.hasOwn(value, "method") || Object.hasOwn(value, "id"))
  );
}
