const LINE_FEED = 10;
/** Smaller chunks are copied, because each may keep a large buffer alive. */
const SMALL_BYTES = 1024;
/** Bytes that are kept of each end of a line that is too long. */
const END_BYTES = 512;

/** The two ends of a line that was longer than allowed. */
export interface LongLine {
  readonly head: string;
  readonly tail: string;
}

/** Cuts a stream of bytes into lines in linear time, and holds no line that is longer than allowed. */
export class LineReader {
  readonly #maxBytes: () => number;
  readonly #onLine: (line: string) => void;
  readonly #onLongLine: (line: LongLine) => void;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Set while the rest of a line is skipped that is too long. */
  #skipped: { readonly head: string; tail: Buffer } | undefined;

  constructor(maxBytes: () => number, onLine: (line: string) => void, onLongLine: (line: LongLine) => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onLongLine = onLongLine;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.#hold(chunk.subarray(start, end));
      this.#endLine();
      start = end + 1;
    }
    this.#hold(chunk.subarray(start));
  }

  #hold(part: Buffer): void {
    if (this.#skipped) {
      this.#skipped.tail = Buffer.concat([this.#skipped.tail, part.subarray(-END_BYTES)]).subarray(-END_BYTES);
      return;
    }
    this.#heldBytes += part.length;
    if (part.length > 0) this.#held.push(part.length < SMALL_BYTES ? Buffer.from(part) : part);
    if (this.#heldBytes <= this.#maxBytes()) return;
    const held = this.#take();
    this.#skipped = { head: held.toString("utf8", 0, END_BYTES), tail: Buffer.from(held.subarray(-END_BYTES)) };
  }

  #endLine(): void {
    const skipped = this.#skipped;
    this.#skipped = undefined;
    if (skipped) this.#onLongLine({ head: skipped.head, tail: skipped.tail.toString("utf8") });
    else this.#onLine(this.#take().toString("utf8"));
  }

  #take(): Buffer {
    const [only] = this.#held;
    const line = this.#held.length === 1 && only ? only : Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    return line;
  }
}
