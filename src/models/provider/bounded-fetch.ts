import type { Transformer, TransformStreamDefaultController } from "node:stream/web";
import {
  AT_ONCE,
  ByteList,
  deadline,
  EventCutter,
  type JsonBounds,
  jsonFault,
  nextTurn,
  readerFor,
  type TextReader,
  asUntrusted,
} from "../../base/index.ts";

/** Maximum size of what is parsed in one piece: a reply, or an event of a stream. It is held until it is complete. */
const TEXT_BYTES = 4 * 1024 * 1024;
/** Maximum size of a stream, which has some hundred bytes for each token. */
const STREAM_BYTES = 32 * 1024 * 1024;
const STREAM_EVENTS = 256 * 1024;
/** What a text may cost to parse. */
const BOUNDS: JsonBounds = { depth: 1000, values: 65_536 };
/** Reading an event takes as long as reading so many bytes of it. */
const EVENT_COST = 256;

class ReplyTooLarge extends Error {
  override readonly name = "ReplyTooLarge";
}

/** Bounds of one request. `timeoutMs` covers the time from sending it to the end of its reply. */
export interface FetchBounds {
  readonly timeoutMs: number;
  readonly fetch: typeof globalThis.fetch;
}

/** Reads for no tenant in particular. */
export const NOBODY = readerFor("");

/**
 * A `fetch` for SDKs. It aborts a reply that is too large, or takes too long, before it is parsed: SDKs measure only
 * the time to the headers. Long texts are measured on the thread that reads, and the host's own work has its turn between
 * events. It follows no redirection, which would send the key to another host.
 */
export function boundedFetch(
  { timeoutMs, fetch }: FetchBounds,
  reader: () => TextReader = () => NOBODY,
): typeof globalThis.fetch {
  return async (input, init) => {
    const timeout = deadline(timeoutMs);
    const signal = init?.signal ? AbortSignal.any([init.signal, timeout]) : timeout;
    const response = await fetch(input, { ...init, redirect: "error", signal });
    if (!response.body) return response;
    const bounded = new TransformStream(within(reader));
    return new Response(response.body.pipeThrough(bounded), response);
  };
}

type Bounding = Transformer<Uint8Array, Uint8Array>;

/** What may stand before a document: white space and a byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf]);
const BEGINS_DOCUMENT: ReadonlySet<number | undefined> = new Set([0x5b, 0x7b]);

/** Bounds a document of JSON, or the events of a stream: a server may send either, whichever it was asked for. */
function within(reader: () => TextReader): Bounding {
  const blank = new ByteList();
  let bounding: Bounding | undefined;
  return {
    transform(chunk, controller) {
      if (bounding) return bounding.transform?.(chunk, controller);
      blank.add(chunk);
      const first = chunk.find((byte) => !BLANKS.has(byte));
      if (first === undefined && blank.bytes > TEXT_BYTES)
        throw new ReplyTooLarge(`The reply begins with more than ${TEXT_BYTES} bytes of nothing.`);
      if (first === undefined) return undefined;
      bounding = BEGINS_DOCUMENT.has(first) ? wholeWithin(reader) : eventsWithin(reader);
      return bounding.transform?.(blank.take(), controller);
    },
    flush: (controller) => bounding?.flush?.(controller),
  };
}

function wholeWithin(reader: () => TextReader): Bounding {
  const held = new ByteList();
  return {
    transform(chunk) {
      held.add(chunk);
      if (held.bytes > TEXT_BYTES) throw new ReplyTooLarge(`The reply has more than ${TEXT_BYTES} bytes.`);
    },
    async flush(controller) {
      const text = held.take();
      await checkText("The reply", text, reader());
      controller.enqueue(text);
    },
  };
}

function eventsWithin(reader: () => TextReader): Bounding {
  const cutter = new EventCutter();
  let bytes = 0;
  let events = 0;
  let cost = 0;
  const refuseLarge = (size: number) => {
    if (size > TEXT_BYTES) throw new ReplyTooLarge(`An event of the reply has more than ${TEXT_BYTES} bytes.`);
  };
  const pass = async (event: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>) => {
    events += 1;
    if (events > STREAM_EVENTS) throw new ReplyTooLarge(`The reply has more than ${STREAM_EVENTS} events.`);
    refuseLarge(event.byteLength);
    await checkText("An event of the reply", event, reader());
    controller.enqueue(event);
    cost += EVENT_COST + event.byteLength;
    if (cost < AT_ONCE) return;
    cost = 0;
    await nextTurn();
  };
  return {
    async transform(chunk, controller) {
      bytes += chunk.byteLength;
      const whole = cutter.push(chunk);
      refuseLarge(cutter.heldBytes);
      if (bytes > STREAM_BYTES) throw new ReplyTooLarge(`The reply has more than ${STREAM_BYTES} bytes.`);
      for (const event of whole) await pass(event, controller);
    },
    async flush(controller) {
      const rest = cutter.end();
      if (rest.byteLength > 0) await pass(rest, controller);
    },
  };
}

/** In UTF-8 no part of another character looks like one of ASCII, so the bytes are measured as they are. */
async function checkText(what: string, { buffer, byteOffset, byteLength }: Uint8Array, reader: TextReader) {
  if (byteLength <= AT_ONCE) return;
  const text = Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
  const fault = await jsonFault(asUntrusted(text), BOUNDS, reader);
  if (fault !== undefined) throw new ReplyTooLarge(`${what} ${FAULTS[fault]}.`);
}

const FAULTS = {
  depth: `is nested more than ${BOUNDS.depth} levels deep`,
  values: `holds more than ${BOUNDS.values} values`,
  syntax: "is not JSON",
  time: "takes too long to read",
};
