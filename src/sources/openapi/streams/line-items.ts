import { isUtf8 } from "node:buffer";
import { ByteList } from "../../../values/byte-list.ts";
import { withPlainEscapes } from "../send.ts";
import { checkValues, type ItemReader, type ReaderParts, textOfBytes, tooLarge, unreadable } from "./item-reader.ts";

const LINE_FEED = 10;
/** Stands before each text of `application/json-seq`. */
const SEPARATOR = "\u001e";
const BYTE_ORDER_MARK = "\ufeff";

/** Reads JSON, one value in each line. All complete lines of a chunk are decoded together. */
export class LineItems implements ItemReader {
  protected readonly parts: ReaderParts;
  readonly #held = new ByteList();
  #isFirst = true;

  constructor(parts: ReaderParts) {
    this.parts = parts;
  }

  *push(chunk: Buffer): Iterable<unknown> {
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) {
      const whole = chunk.subarray(0, end);
      yield* this.#lines(this.#held.bytes === 0 ? whole : this.#held.take(whole));
    }
    this.#held.add(chunk.subarray(end));
    if (this.#held.bytes > this.parts.resultBytes) throw tooLarge(this.parts);
  }

  *end(): Iterable<unknown> {
    yield* this.#lines(this.#held.take());
  }

  /** The items of a line. */
  protected *line(text: string): Iterable<unknown> {
    if (text.trim() !== "") yield this.parsed(text);
  }

  protected parsed(text: string): unknown {
    checkValues(this.parts, text);
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw unreadable(this.parts, "an item that cannot be read as JSON", cause);
    }
  }

  *#lines(bytes: Buffer): Iterable<unknown> {
    if (bytes.length <= this.parts.resultBytes && isUtf8(bytes)) return yield* this.#texts(bytes);
    for (let start = 0; start < bytes.length;) {
      const found = bytes.indexOf(LINE_FEED, start);
      const end = found < 0 ? bytes.length : found + 1;
      if (end - start - 1 > this.parts.resultBytes) throw tooLarge(this.parts);
      yield* this.#texts(bytes.subarray(start, end));
      start = end;
    }
  }

  *#texts(bytes: Buffer): Iterable<unknown> {
    const said = textOfBytes(this.parts, bytes);
    const text = this.parts.secrets.takenFrom(withPlainEscapes(this.#isFirst ? withoutMark(said) : said));
    this.#isFirst = false;
    for (let start = 0; start < text.length;) {
      const found = text.indexOf("\n", start);
      const end = found < 0 ? text.length : found;
      yield* this.line(text.slice(start, end));
      start = end + 1;
    }
  }
}

/** Reads `application/json-seq`: each text follows a separator, and may have several lines. */
export class SequenceItems extends LineItems {
  /** A text that its first line did not complete. */
  readonly #open = new ByteList();

  override *end(): Iterable<unknown> {
    yield* super.end();
    yield* this.#close();
  }

  protected override *line(text: string): Iterable<unknown> {
    for (let start = 0; ;) {
      const end = text.indexOf(SEPARATOR, start);
      yield* this.#continue(text.slice(start, end < 0 ? text.length : end));
      if (end < 0) return;
      yield* this.#close();
      start = end + 1;
    }
  }

  /** A text of one line, as most are, is read without waiting for the next separator. */
  *#continue(line: string): Iterable<unknown> {
    if (line.trim() === "") return;
    const value = this.#open.bytes === 0 ? tried(() => this.parsed(line)) : undefined;
    if (value) return yield value[0];
    this.#open.add(Buffer.from(`${line}\n`));
    if (this.#open.bytes > this.parts.resultBytes) throw tooLarge(this.parts);
  }

  *#close(): Iterable<unknown> {
    if (this.#open.bytes > 0) yield this.parsed(this.#open.take().toString("utf8"));
  }
}

/** The value in a list; undefined if there is none. */
function tried(make: () => unknown): readonly [unknown] | undefined {
  try {
    return [make()];
  } catch {
    return undefined;
  }
}

export function withoutMark(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}
