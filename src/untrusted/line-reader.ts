import { ByteList } from "../values/byte-list.ts";

const LINE_FEED = 10;
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

/** The ends of a line that was held. */
export const endsOf = (line: string): LongLine => ({ head: line.slice(0, END_BYTES), tail: line.slice(-END_BYTES) });

/** The id in a line that was too long to be held. It is written near one of its ends. */
export function answeredBy({ head, tail }: LongLine): string | number | undefined {
  const [, id] =
    /^\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*("[^"\\]{0,64}"|\d{1,15})\s*,/.exec(head) ??
    /"id"\s*:\s*("[^"\\]{0,64}"|\d{1,15})\s*\}\s*$/.exec(tail) ??
    [];
  return id === undefined ? undefined : (JSON.parse(id) as string | number);
}
