import { answeredBy, endsOfLine, exactJson, LineReader, type OutputTail } from "../../../base/index.ts";
import { isLargeMessage, LargeMessages } from "./large-messages.ts";
import { type ServerCommand, ServerProcess } from "./server-process.ts";
import { ConnectionLost, MalformedMessage, type Message, MessageTooLarge, type Wire, type WireEvents } from "./wire.ts";

/** Bytes that a server may write to standard output between two messages. Some print a banner there. */
const GARBAGE_BYTES = 16 * 1024 * 1024;

/** A server's standard streams: a message is a line. */
export class StdioWire implements Wire {
  readonly hasExchanges = false;
  readonly #server: ServerCommand;
  readonly #log: OutputTail;
  readonly #large: LargeMessages;
  #process: ServerProcess | undefined;
  /** Set once the process is being started. It may be closed before it runs. */
  #starting: Promise<ServerProcess> | undefined;
  #garbageBytes = 0;
  #taking: Promise<void> = Promise.resolve();

  /** `log` gets standard error, and the lines of standard output that are no messages. */
  constructor(server: ServerCommand, log: OutputTail) {
    this.#server = server;
    this.#log = log;
    this.#large = new LargeMessages(server.name);
  }

  async start(events: WireEvents): Promise<void> {
    const allowedBytes = () => events.allowed().bytes;
    const reader = new LineReader(
      allowedBytes,
      (line) => this.#inTurn(() => this.#take(line, events)),
      (line) => {
        const tooLarge = new MessageTooLarge(allowedBytes(), "bytes");
        this.#inTurn(() => events.onFailed(answeredBy(line), tooLarge));
      },
    );
    this.#starting = ServerProcess.start(this.#server, (chunk) => reader.push(chunk), this.#log);
    const process = await this.#starting;
    this.#process = process;
    void process.ended.then(async (how) => {
      await this.#taking.catch(() => {});
      events.onClosed(how);
    });
  }

  /** Lines are taken in their order. While a large one is read, the server's output waits. */
  #inTurn(take: () => void | Promise<void>): void {
    const takeNext = async () => {
      const taking = take();
      if (!taking) return;
      this.#process?.pause();
      await taking.finally(() => this.#process?.resume());
    };
    this.#taking = this.#taking.then(takeNext, takeNext);
  }

  #take(line: string, events: WireEvents): void | Promise<void> {
    if (!isLargeMessage(line) || !line.startsWith("{")) return this.#takeLine(line, line, events);
    return this.#large.read(line, events.allowed()).then(
      (text) => this.#takeLine(line, text, events),
      (error: Error) => events.onFailed(answeredBy(endsOfLine(line)), error),
    );
  }

  #takeLine(line: string, text: string, events: WireEvents): void {
    const message = parseLine(text);
    if (message !== undefined) {
      this.#garbageBytes = 0;
      return events.onMessage(this.#large.whole(message));
    }
    this.#log.add(Buffer.from(`${line}\n`));
    this.#garbageBytes += line.length + 1;
    if (this.#garbageBytes > GARBAGE_BYTES) void this.#process?.stop();
    const answered = line.startsWith("{") ? answeredBy(endsOfLine(line)) : undefined;
    if (answered !== undefined)
      events.onFailed(answered, new MalformedMessage("A message of the server cannot be read: it is not JSON."));
  }

  /** A call that is given up while it waits for a server that does not read is dropped. */
  send(message: Message, { signal }: Parameters<Wire["send"]>[1] = {}): Promise<void> {
    if (!this.#process) return Promise.reject(new ConnectionLost("The server was not started."));
    const waiting: { message?: Message } = { message };
    signal?.addEventListener("abort", () => delete waiting.message, { once: true });
    const lost = (cause: unknown) => Promise.reject(new ConnectionLost("The server has ended.", { cause }));
    return this.#process.write(() => waiting.message && `${JSON.stringify(waiting.message)}\n`).catch(lost);
  }

  async close(): Promise<void> {
    const process = await this.#starting?.catch(() => undefined);
    await process?.stop();
  }
}

function parseLine(line: string): unknown {
  if (!line.startsWith("{")) return undefined;
  try {
    return exactJson(line);
  } catch {
    return undefined;
  }
}
