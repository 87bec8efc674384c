import { COLON, COMMA, END, isOpening, JsonScanner, MORE, newCount, OPEN_LIST, QUOTE } from "./json-scanner.ts";
import { PLAIN_DEPTH, readPlainData } from "./plain-data.ts";
import type { Lane, SlicedWork } from "../slice-scheduler.ts";

export interface ValueHead {
  /** The value, with its lists, records and texts cut. */
  readonly value: unknown;
  /** The full number of entries of each cut list or record. */
  readonly counts: ReadonlyMap<object, number>;
  /** What is missing of texts that are cut. Missing if none is. */
  readonly texts?: CutTexts;
}

/** The ends and lengths of cut texts, by what holds them, and their name or place in it. Nothing holds a value that is a text itself. */
export type CutTexts = ReadonlyMap<object | undefined, ReadonlyMap<string, TextRest>>;

export interface TextRest {
  readonly last: string;
  /** UTF-16 units of the whole text. */
  readonly length: number;
}

/** Fields of a record that are read even without room, by its depth, so that its shape is known. */
const FIELDS = [200, 64];
/** Characters of each list and record at these depths that are read even without room: short ones are known whole. */
const LEAST_LENGTH = 256;
/** Entries of a list that are read even without room, at any depth. */
const ROWS = 1;

/** Room taken by a container without its entries. */
const CONTAINER_LENGTH = 2;
/** Maximum number of JSON characters per character of text. */
const ESCAPE_LENGTH = 6;
/** Texts and names up to this length are read whole, even without room. */
const SHORT_LENGTH = 1024;
/** Characters skipped between two checks whether the lane must yield the host's thread. */
const STEP_LENGTH = 16 * 1024;

const NO_ENTRY = /[ \n\r\t]*[\]}]/y;

class NotJson extends Error {}

/** Reads a value whole if it has at most `bytes`, and else its beginning. Undefined if the text that is read is not plain JSON. */
export async function readUpTo(
  text: string,
  bytes: number,
  lane: Lane,
): Promise<(Pick<ValueHead, "value"> & Partial<ValueHead>) | undefined> {
  if (text.length > bytes || Buffer.byteLength(text) > bytes) return readHead(text, bytes, lane);
  const read = await lane.run(() => readPlainData(text));
  return read.ok ? { value: read.value } : undefined;
}

/**
 * Reads the beginning of a large value: about `room` characters, and of the rest what the shape needs. The other text is
 * skipped without parsing, in slices of the host's thread. Undefined if the text that is read is not plain JSON.
 */
export async function readHead(text: string, room: number, lane: Lane): Promise<ValueHead | undefined> {
  try {
    return await lane.work(new HeadReader(text, room).read());
  } catch (error) {
    if (error instanceof NotJson || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

class HeadReader {
  readonly #text: string;
  readonly #scanner: JsonScanner;
  readonly #wholeRoom: number;
  #room: number;
  /** What is left of the room when nothing more is read. */
  #floor = 0;
  /** The last mark: after a value, what follows it. */
  #mark = MORE;
  readonly #counts = new Map<object, number>();
  readonly #texts = new Map<object | undefined, Map<string, TextRest>>();
  /** Of the last value, if it is a text that was cut. */
  #rest: TextRest | undefined;

  constructor(text: string, room: number) {
    this.#text = text;
    this.#scanner = new JsonScanner(text);
    this.#wholeRoom = room;
    this.#room = room;
  }

  /** JSON characters of a text or a name that are read: more than the room, even if each character is escaped. */
  get #maxLength(): number {
    return this.#room > 0 ? this.#wholeRoom * ESCAPE_LENGTH + SHORT_LENGTH : SHORT_LENGTH;
  }

  *read(): SlicedWork<ValueHead> {
    const value = yield* this.#entry(undefined, "", 0);
    if (this.#mark !== END) throw new NotJson();
    return { value, counts: this.#counts, ...(this.#texts.size !== 0 && { texts: this.#texts }) };
  }

  /** Reads the value of a name in a container. Notes what is missing if it is a text that was cut. */
  *#entry(container: object | undefined, name: string, depth: number): SlicedWork<unknown> {
    const value = yield* this.#value(depth);
    if (typeof value !== "string" || !this.#rest) return value;
    const texts = this.#texts.get(container) ?? new Map<string, TextRest>();
    this.#texts.set(container, texts.set(name, this.#rest));
    this.#rest = undefined;
    return value;
  }

  *#value(depth: number): SlicedWork<unknown> {
    if (depth > PLAIN_DEPTH) throw new NotJson();
    while (this.#isFar()) yield;
    if (this.#mark !== QUOTE && !isOpening(this.#mark)) return this.#word();
    this.#require();
    const value = this.#mark === QUOTE ? yield* this.#long() : yield* this.#container(depth);
    while (this.#isFar()) yield;
    this.#require();
    return value;
  }

  /** Reads entries while there is room, but at least some. Records the full number if some are skipped. */
  *#container(depth: number): SlicedWork<object> {
    const container: unknown[] | Record<string, unknown> = this.#mark === OPEN_LIST ? [] : {};
    const closing = this.#mark + 2;
    const outer = this.#scanner.level;
    this.#room -= CONTAINER_LENGTH;
    if (this.#isEmpty()) return this.#closed(container, closing);
    const minEntries = Array.isArray(container) ? ROWS : (FIELDS[depth] ?? 0);
    const floor = this.#floor;
    if (depth < FIELDS.length) this.#floor = Math.min(floor, this.#room - LEAST_LENGTH);
    let count = 0;
    for (; this.#room > this.#floor || count < minEntries; count += 1) {
      yield;
      const name = Array.isArray(container) ? String(count) : yield* this.#name();
      const entry = yield* this.#entry(container, name, depth + 1);
      if (Array.isArray(container)) container.push(entry);
      else container[name] = entry;
      if (this.#mark === COMMA) continue;
      this.#floor = floor;
      return this.#closed(container, closing);
    }
    this.#floor = floor;
    this.#counts.set(container, count + 1 + (yield* this.#passRest(outer)));
    return this.#closed(container, closing);
  }

  #closed(container: object, closing: number): object {
    if (this.#mark === END || this.#text.charCodeAt(this.#scanner.at - 1) !== closing) throw new NotJson();
    return container;
  }

  /** Whether the container that has just been opened has no entry. Then its end is passed. */
  #isEmpty(): boolean {
    NO_ENTRY.lastIndex = this.#scanner.at;
    return NO_ENTRY.test(this.#text) && !this.#isFar(NO_ENTRY.lastIndex);
  }

  *#name(): SlicedWork<string> {
    while (this.#isFar()) yield;
    this.#require(QUOTE);
    const { start, end } = this.#scanner;
    const isCut = end - start > this.#maxLength;
    const read = this.#string();
    // Cut names may be equal, so the position is added to keep their fields apart.
    const name = isCut ? `${read}…${start}` : read;
    while (this.#isFar()) yield;
    if (name === "__proto__") throw new NotJson();
    this.#require(COLON);
    return name;
  }

  /** Reads a number, a boolean or null. */
  #word(): unknown {
    const word = this.#scanner.between;
    this.#room -= word.trim().length;
    return JSON.parse(word);
  }

  /** Reads a text. Of a long one, it reads the beginning, and notes the end and the length. */
  *#long(): SlicedWork<string> {
    const { start, end } = this.#scanner;
    if (end - start > this.#maxLength) this.#rest = yield* restOf(this.#text, start + 1, end - 1, this.#maxLength);
    return this.#string();
  }

  /** Reads a text or a name, or its beginning if it is long. */
  #string(): string {
    const { start, end } = this.#scanner;
    const max = this.#maxLength;
    this.#room -= end - start;
    return end - start > max
      ? beginning(this.#text.slice(start + 1, start + max)).text
      : (JSON.parse(this.#text.slice(start, end)) as string);
  }

  /** Passes the rest of a container. Returns the number of its commas. */
  *#passRest(outer: number): SlicedWork<number> {
    const count = newCount();
    while (this.#scanner.level >= outer) {
      if (this.#scanner.isAtEnd) throw new NotJson();
      yield;
      this.#scanner.pass(count, this.#scanner.at + STEP_LENGTH, outer);
    }
    return count.rows;
  }

  /** Reads up to the next mark. Returns whether that mark is at or behind `until`. */
  #isFar(until = this.#scanner.at + STEP_LENGTH): boolean {
    this.#mark = this.#scanner.next(until);
    return this.#mark === MORE;
  }

  /** Only white space may stand before the mark. */
  #require(mark = this.#mark): void {
    if (this.#mark !== mark || !this.#scanner.isBlankBetween) throw new NotJson();
  }
}

/** Parses the beginning of what stands between the quotes of a string's JSON. An escape that was cut is omitted: `length` is what was read. */
function beginning(json: string): { readonly text: string; readonly length: number } {
  for (let cut = 0; cut < ESCAPE_LENGTH; cut += 1) {
    const length = json.length - cut;
    try {
      return { text: JSON.parse(`"${json.slice(0, length)}"`) as string, length };
    } catch {}
  }
  throw new NotJson();
}

/** The end of a string, of about `room` characters, and its length. It stands between two quotes in the text. */
function* restOf(text: string, start: number, end: number, room: number): SlicedWork<TextRest> {
  let last = "";
  let length = 0;
  for (let at = start; at < end;) {
    yield;
    const piece = beginning(text.slice(at, Math.min(at + STEP_LENGTH, end)));
    at += piece.length;
    length += piece.text.length;
    last = (last + piece.text).slice(-room);
  }
  return { last, length };
}
