/** Maximum bytes of a block that small parts are copied into. */
const BLOCK_BYTES = 64 * 1024;

/**
 * Collects parts of a stream, however it was cut, in little more memory than their bytes. A list of the parts
 * themselves would take some hundred bytes for each part, and would keep alive the larger buffers behind the parts.
 */
export class ByteList {
  #whole: Uint8Array[] = [];
  #block = new Uint8Array();
  /** Bytes of the block that are used. */
  #used = 0;
  bytes = 0;

  add(part: Uint8Array): void {
    this.bytes += part.byteLength;
    for (let rest = part; rest.byteLength > 0;) {
      if (this.#used === this.#block.byteLength) this.#newBlock(rest.byteLength);
      const slice = rest.subarray(0, this.#block.byteLength - this.#used);
      this.#block.set(slice, this.#used);
      this.#used += slice.byteLength;
      rest = rest.subarray(slice.byteLength);
    }
  }

  /** All bytes, with `last` behind them, in one buffer. The list is empty afterwards. */
  take(last: Uint8Array = new Uint8Array()): Buffer {
    const parts = [...this.#whole, this.#block.subarray(0, this.#used), last].filter((part) => part.byteLength > 0);
    this.#whole = [];
    this.#block = new Uint8Array();
    this.#used = 0;
    this.bytes = 0;
    const [only] = parts;
    return parts.length === 1 && only
      ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
      : Buffer.concat(parts);
  }

  /** Blocks grow with the list: most lists hold one short part. */
  #newBlock(bytes: number): void {
    if (this.#used > 0) this.#whole.push(this.#block);
    this.#block = new Uint8Array(Math.max(bytes, Math.min(BLOCK_BYTES, this.bytes)));
    this.#used = 0;
  }
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * Cuts a stream of server-sent events into its events. Parsers search their whole buffer for each chunk, and copy what
 * follows an event: many small chunks, or thousands of events in one chunk, would take quadratic time.
 */
export class EventCutter {
  readonly #held = new ByteList();
  /** Consecutive line ends: two of them end an event. */
  #lineEnds = 0;
  #afterReturn = false;

  get heldBytes(): number {
    return this.#held.bytes;
  }

  /** Takes a chunk and returns the events that it completes. */
  push(chunk: Uint8Array): Uint8Array[] {
    const events: Uint8Array[] = [];
    let start = 0;
    // An iterator over the bytes, and fields in place of these variables, would take ten times as long.
    let lineEnds = this.#lineEnds;
    let afterReturn = this.#afterReturn;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      const isSecondHalf = byte === LINE_FEED && afterReturn;
      afterReturn = byte === CARRIAGE_RETURN;
      if (isSecondHalf) continue;
      // Only the next byte shows whether a carriage return was the whole line end.
      if (lineEnds >= 2) {
        events.push(this.#cut(chunk.subarray(start, at)));
        start = at;
        lineEnds = 0;
      }
      lineEnds = byte === LINE_FEED || afterReturn ? lineEnds + 1 : 0;
    }
    this.#lineEnds = lineEnds;
    this.#afterReturn = afterReturn;
    // A complete event is passed on without waiting for the next chunk.
    const rest = chunk.subarray(start);
    if (this.#lineEnds >= 2 && !this.#afterReturn) {
      events.push(this.#cut(rest));
      this.#lineEnds = 0;
    } else this.#held.add(rest);
    return events;
  }

  end(): Uint8Array {
    return this.#cut(new Uint8Array());
  }

  #cut(last: Uint8Array): Uint8Array {
    return this.#held.bytes === 0 ? last : this.#held.take(last);
  }
}

/** Keeps the last `maxBytes` of a process's output. Chunks are joined in groups, because each may be a single byte. */
export class OutputTail {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #all = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    this.#all += chunk.length;
    // Copied, because a chunk may be a view of a larger buffer.
    this.#chunks.push(Buffer.from(chunk.subarray(-this.#maxBytes)));
    this.#bytes += Math.min(chunk.length, this.#maxBytes);
    if (this.#bytes > 2 * this.#maxBytes || this.#chunks.length > this.#maxBytes) this.#join();
  }

  get isCut(): boolean {
    return this.#all > this.#maxBytes;
  }

  get text(): string {
    return this.#join().toString("utf8");
  }

  #join(): Buffer {
    const joined = Buffer.concat(this.#chunks).subarray(-this.#maxBytes);
    this.#chunks = [joined];
    this.#bytes = joined.length;
    return joined;
  }
}

/** Bytes that are kept of each end of a line that is too long. */
const END_BYTES = 512;

export interface LongLine {
  readonly head: string;
  readonly tail: string;
}

/** Cuts a stream of bytes into lines in linear time, and holds no line that is longer than allowed. */
export class LineReader {
  readonly #maxBytes: () => number;
  readonly #onLine: (line: string) => void;
  readonly #onLongLine: (line: LongLine) => void;
  readonly #held = new ByteList();
  /** Set while the rest of a long line is skipped. */
  #skipped: { readonly head: string; tail: Buffer } | undefined;

  constructor(maxBytes: () => number, onLine: (line: string) => void, onLongLine: (line: LongLine) => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onLongLine = onLongLine;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.#endLine(chunk.subarray(start, end));
      start = end + 1;
    }
    this.#hold(chunk.subarray(start));
  }

  #hold(part: Buffer): void {
    if (this.#skipped) this.#skipped.tail = endOf(this.#skipped.tail, part);
    else if (this.#held.bytes + part.length <= this.#maxBytes()) this.#held.add(part);
    else this.#skip(part);
  }

  #skip(part: Buffer): void {
    const held = this.#held.take();
    const head = Buffer.concat([held.subarray(0, END_BYTES), part.subarray(0, END_BYTES)]);
    this.#skipped = { head: head.toString("utf8", 0, END_BYTES), tail: endOf(held, part) };
  }

  /** A line that came in a single chunk is not copied. */
  #endLine(last: Buffer): void {
    if (this.#held.bytes + last.length > this.#maxBytes() || this.#skipped) this.#hold(last);
    const skipped = this.#skipped;
    this.#skipped = undefined;
    if (skipped) this.#onLongLine({ head: skipped.head, tail: skipped.tail.toString("utf8") });
    else this.#onLine((this.#held.bytes === 0 ? last : this.#held.take(last)).toString("utf8"));
  }
}

/** The last bytes of two parts, in a buffer of their own. */
function endOf(one: Buffer, other: Buffer): Buffer {
  return Buffer.from(Buffer.concat([one.subarray(-END_BYTES), other.subarray(-END_BYTES)]).subarray(-END_BYTES));
}

export const endsOfLine = (line: string): LongLine => ({
  head: line.slice(0, END_BYTES),
  tail: line.slice(-END_BYTES),
});

/** The id in a line that was too long to be held. It is written near one of its ends. */
export function answeredBy({ head, tail }: LongLine): string | number | undefined {
  const [, id] =
    /^\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*("[^"\\]{0,64}"|\d{1,15})\s*,/.exec(head) ??
    /"id"\s*:\s*("[^"\\]{0,64}"|\d{1,15})\s*\}\s*$/.exec(tail) ??
    [];
  return id === undefined ? undefined : (JSON.parse(id) as string | number);
}
