import { answeredBy, endsOfLine, exactJson, LineReader, type OutputTail, ignore } from "../../../base/index.ts";
import { isLargeMessage, LargeMessages } from "./large-messages.ts";
import { type ServerCommand, type ServerProcess, startServer } from "./server-process.ts";
import { ConnectionLost, MalformedMessage, type Message, MessageTooLarge, type Wire, type WireEvents } from "./wire.ts";

/** Bytes that a server may write to standard output between two messages. Some print a banner there. */
const GARBAGE_BYTES = 16 * 1024 * 1024;

/**
 * A server's standard streams: a message is a line. `log` gets standard error, and the lines of standard output that are no
 * messages.
 */
export function stdioWire(server: ServerCommand, log: OutputTail): Wire {
  const large = new LargeMessages(server.name);
  let running: ServerProcess | undefined;
  /** Set once the process is being started. It may be closed before it runs. */
  let starting: Promise<ServerProcess> | undefined;
  let garbageBytes = 0;
  const order = lineOrder(() => running);

  const takeLine = (line: string, text: string, events: WireEvents): void => {
    const message = parseLine(text);
    if (message !== undefined) {
      garbageBytes = 0;
      return events.onMessage(large.whole(message));
    }
    log.add(Buffer.from(`${line}\n`));
    garbageBytes += line.length + 1;
    if (garbageBytes > GARBAGE_BYTES) void running?.stop();
    failIfAnswer(line, events);
  };

  return {
    hasExchanges: false,
    async start(events) {
      const allowedBytes = () => events.allowed().bytes;
      const reader = new LineReader(
        allowedBytes,
        (line) => order.take(() => takeOf(large, line, events, takeLine)),
        (line) => {
          const tooLarge = new MessageTooLarge(allowedBytes(), "bytes");
          order.take(() => events.onFailed(answeredBy(line), tooLarge));
        },
      );
      running = await (starting = startServer(server, (chunk) => reader.push(chunk), log));
      void running.ended.then(async (how) => {
        await order.drain();
        events.onClosed(how);
      });
    },
    send: (message, { signal }) => sendTo(running!, message, signal),
    async close() {
      await (await starting?.catch(() => undefined))?.stop();
    },
  };
}

/** Has a line taken, a large one once it is read. */
function takeOf(
  large: LargeMessages,
  line: string,
  events: WireEvents,
  take: (line: string, text: string, events: WireEvents) => void,
): void | Promise<void> {
  if (!isLargeMessage(line) || !line.startsWith("{")) return take(line, line, events);
  return large.read(line, events.allowed()).then(
    (text) => take(line, text, events),
    (error: Error) => events.onFailed(answeredBy(endsOfLine(line)), error),
  );
}

/** No answer will come to the request that a line answers, which is no message. */
function failIfAnswer(line: string, { onFailed }: WireEvents): void {
  const answered = line.startsWith("{") ? answeredBy(endsOfLine(line)) : undefined;
  if (answered !== undefined)
    onFailed(answered, new MalformedMessage("A message of the server cannot be read: it is not JSON."));
}

/** Lines are taken in their order. While a large one is read, the server's output waits. */
function lineOrder(running: () => ServerProcess | undefined) {
  let taking: Promise<void> = Promise.resolve();
  return {
    take(take: () => void | Promise<void>): void {
      const takeNext = async () => {
        const work = take();
        if (!work) return;
        running()?.pause();
        await work.finally(() => running()?.resume());
      };
      taking = taking.then(takeNext, takeNext);
    },
    drain: () => taking.catch(ignore),
  };
}

/** A call that is given up while it waits for a server that does not read is dropped. */
async function sendTo(running: ServerProcess, message: Message, signal: AbortSignal | undefined) {
  const waiting: { message?: Message } = { message };
  signal?.addEventListener("abort", () => delete waiting.message, { once: true });
  const lost = (cause: unknown) => Promise.reject(new ConnectionLost("The server has ended.", { cause }));
  return running.write(() => waiting.message && `${JSON.stringify(waiting.message)}\n`).catch(lost);
}

function parseLine(line: string): unknown {
  if (!line.startsWith("{")) return undefined;
  try {
    return exactJson(line);
  } catch {
    return undefined;
  }
}
