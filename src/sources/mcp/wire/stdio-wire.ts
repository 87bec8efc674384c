import type { OutputTail } from "../../../values/output-tail.ts";
import { exactJson } from "../../../values/json/exact-json.ts";
import { LineReader, type LongLine } from "./line-reader.ts";
import { type ServerCommand, ServerProcess } from "./server-process.ts";
import { ConnectionLost, type Message, MessageTooLarge, type MessageId, type Wire, type WireEvents } from "./wire.ts";

/** Bytes that a server may write to standard output between two messages. Some print a banner there. */
const GARBAGE_BYTES = 16 * 1024 * 1024;

/** A server's standard streams: a message is a line. */
export class StdioWire implements Wire {
  readonly hasExchanges = false;
  readonly #server: ServerCommand;
  readonly #log: OutputTail;
  #process: ServerProcess | undefined;
  /** Set once the process is being started. It may be closed before it runs. */
  #starting: Promise<ServerProcess> | undefined;
  #garbageBytes = 0;

  /** `log` gets standard error, and the lines of standard output that are no messages. */
  constructor(server: ServerCommand, log: OutputTail) {
    this.#server = server;
    this.#log = log;
  }

  async start({ allowedBytes, onMessage, onFailed, onClosed }: WireEvents): Promise<void> {
    const onGarbage = (line: string) => {
      this.#log.add(Buffer.from(`${line}\n`));
      this.#garbageBytes += line.length + 1;
      if (this.#garbageBytes > GARBAGE_BYTES) void this.#process?.stop();
    };
    const reader = new LineReader(
      allowedBytes,
      (line) => {
        const message = parseLine(line);
        if (message === undefined) return onGarbage(line);
        this.#garbageBytes = 0;
        onMessage(message);
      },
      (line) =>
        onFailed(answeredBy(line), new MessageTooLarge(`A line of the server has more than ${allowedBytes()} bytes.`)),
    );
    this.#starting = ServerProcess.start(this.#server, (chunk) => reader.push(chunk), this.#log);
    const process = await this.#starting;
    this.#process = process;
    void process.ended.then(onClosed);
  }

  async send(message: Message): Promise<void> {
    if (!this.#process) throw new ConnectionLost("The server was not started.");
    try {
      await this.#process.write(`${JSON.stringify(message)}\n`);
    } catch (cause) {
      throw new ConnectionLost("The server has ended.", { cause });
    }
  }

  async close(): Promise<void> {
    const process = await this.#starting?.catch(() => undefined);
    await process?.stop();
  }
}

/** Undefined for a line that is no message. */
function parseLine(line: string): unknown {
  if (!line.startsWith("{")) return undefined;
  try {
    return exactJson(line);
  } catch {
    return undefined;
  }
}

/** The id in a line that was too long to be held. It is written near one of its ends. */
export function answeredBy({ head, tail }: LongLine): MessageId | undefined {
  const [, id] =
    /^\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*("[^"\\]{0,64}"|\d{1,15})\s*,/.exec(head) ??
    /"id"\s*:\s*("[^"\\]{0,64}"|\d{1,15})\s*\}\s*$/.exec(tail) ??
    [];
  return id === undefined ? undefined : (JSON.parse(id) as MessageId);
}
