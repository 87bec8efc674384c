import { COMMA, isClosing, isOpening, PLAIN_DEPTH, QUOTE } from "./plain-data.ts";
import type { Lane, SlicedWork } from "./slice-scheduler.ts";

/** The beginning of a value. */
export interface ValueHead {
  /** The value, with its lists, records and texts cut. */
  readonly value: unknown;
  /** The full number of entries of each cut list or record. */
  readonly counts: ReadonlyMap<object, number>;
}

/** Minimum number of fields that are read of a record down to `FIELDS_DEPTH`, even without room, so that its shape is known. */
const FIELDS = 24;
const FIELDS_DEPTH = 1;
/** Minimum number of entries that are read of a list, at any depth. */
const ROWS = 1;

/** Room taken by a container without its entries. */
const CONTAINER_LENGTH = 2;
/** Maximum number of JSON characters per character of text. */
const ESCAPE_LENGTH = 6;
/** Texts and names up to this length are read whole, even without room. */
const SHORT_LENGTH = 1024;
/** Characters skipped between two checks whether the lane must yield the host's thread. */
const STEP_LENGTH = 16 * 1024;

const SPACE = /[ \n\r\t]*/y;
const WORD = /[^,:\]}]*/y;

class NotJson extends Error {}

/**
 * Reads the beginning of a large value: about `room` characters, and of the rest only as much as its shape needs. The
 * rest is skipped without parsing, and yields the host's thread in between. Undefined if the text read is not plain JSON.
 */
export async function readHead(text: string, room: number, lane: Lane): Promise<ValueHead | undefined> {
  try {
    return await lane.work(new HeadReader(text, room).read());
  } catch (error) {
    if (error instanceof NotJson || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** State of skipping, kept across yields. */
interface Rest {
  level: number;
  inString: boolean;
  commas: number;
}

class HeadReader {
  readonly #text: string;
  /** Maximum number of JSON characters read of a text or a name. It exceeds the room even if every character is escaped. */
  readonly #maxLength: number;
  #room: number;
  #at = 0;
  /** Indices of the next quotation mark and backslash, as of the last search. */
  #quote = -1;
  #backslash = -1;
  readonly #counts = new Map<object, number>();

  constructor(text: string, room: number) {
    this.#text = text;
    this.#maxLength = room * ESCAPE_LENGTH + SHORT_LENGTH;
    this.#room = room;
  }

  *read(): SlicedWork<ValueHead> {
    const value = yield* this.#value(0);
    if (this.#peek() !== "") throw new NotJson();
    return { value, counts: this.#counts };
  }

  #value(depth: number): SlicedWork<unknown> {
    if (depth > PLAIN_DEPTH) throw new NotJson();
    const first = this.#peek();
    if (first === "[") return this.#container([], "]", depth, ROWS);
    if (first === "{") return this.#container({}, "}", depth, depth <= FIELDS_DEPTH ? FIELDS : 0);
    return first === '"' ? this.#string() : this.#word();
  }

  /** Reads entries while there is room, but at least `minEntries`. Records the full number if some are skipped. */
  *#container(
    container: unknown[] | Record<string, unknown>,
    closing: string,
    depth: number,
    minEntries: number,
  ): SlicedWork<object> {
    this.#at += 1;
    this.#room -= CONTAINER_LENGTH;
    if (this.#peek() === closing) {
      this.#at += 1;
      return container;
    }
    let count = 0;
    for (; this.#room > 0 || count < minEntries; count += 1) {
      yield;
      if (Array.isArray(container)) container.push(yield* this.#value(depth + 1));
      else container[yield* this.#name()] = yield* this.#value(depth + 1);
      const next = this.#peek();
      this.#at += 1;
      if (next === closing) return container;
      if (next !== ",") throw new NotJson();
    }
    count += 1 + (yield* this.#passRest("container"));
    if (this.#text[this.#at - 1] !== closing) throw new NotJson();
    this.#counts.set(container, count);
    return container;
  }

  *#name(): SlicedWork<string> {
    if (this.#peek() !== '"') throw new NotJson();
    const start = this.#at;
    const read = yield* this.#string();
    // Cut names may be equal, so the position is added to keep their fields apart.
    const name = this.#at - start > this.#maxLength ? `${read}…${start}` : read;
    if (name === "__proto__" || this.#peek() !== ":") throw new NotJson();
    this.#at += 1;
    return name;
  }

  /** Reads a number, a boolean or null. */
  *#word(): SlicedWork<unknown> {
    const start = this.#at;
    this.#pass(WORD);
    this.#room -= this.#at - start;
    yield;
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  /** Reads a text, or the beginning of a long one. */
  *#string(): SlicedWork<string> {
    const start = this.#at;
    this.#at += 1;
    yield* this.#passRest("string");
    const length = this.#at - start;
    this.#room -= length;
    return length > this.#maxLength
      ? beginning(this.#text.slice(start, start + this.#maxLength))
      : (JSON.parse(this.#text.slice(start, this.#at)) as string);
  }

  /** Skips to the end of the current container or string without reading it. Returns the number of commas skipped between a container's entries. */
  *#passRest(of: "container" | "string"): SlicedWork<number> {
    const rest: Rest = { level: of === "container" ? 1 : 0, inString: of === "string", commas: 0 };
    while (rest.level > 0 || rest.inString) {
      if (this.#at >= this.#text.length) throw new NotJson();
      yield;
      this.#passSome(rest);
    }
    if (this.#at > this.#text.length) throw new NotJson();
    return rest.commas;
  }

  /** A separate method, because the loop takes twice as long inside a generator. */
  #passSome(rest: Rest): void {
    const text = this.#text;
    const until = Math.min(text.length, this.#at + STEP_LENGTH);
    let { level, inString, commas } = rest;
    let index = this.#at;
    while (index < until && (level > 0 || inString)) {
      if (inString) {
        if (this.#quote < index) this.#quote = this.#find('"', index);
        if (this.#backslash < index) this.#backslash = this.#find("\\", index);
        inString = this.#backslash < this.#quote;
        index = inString ? this.#backslash + 2 : this.#quote + 1;
        continue;
      }
      const unit = text.charCodeAt(index);
      if (unit === QUOTE) inString = true;
      else if (unit === COMMA) commas += level === 1 ? 1 : 0;
      else if (isOpening(unit)) level += 1;
      else if (isClosing(unit)) level -= 1;
      index += 1;
    }
    this.#at = index;
    Object.assign(rest, { level, inString, commas });
  }

  /** Index of the next occurrence; the text's length if there is none. */
  #find(what: string, from: number): number {
    const index = this.#text.indexOf(what, from);
    return index < 0 ? this.#text.length : index;
  }

  /** Skips white space and returns the next character; empty at the end. */
  #peek(): string {
    this.#pass(SPACE);
    return this.#text[this.#at] ?? "";
  }

  #pass(what: RegExp): void {
    what.lastIndex = this.#at;
    what.test(this.#text);
    this.#at = what.lastIndex;
  }
}

/** Parses the beginning of a string's JSON. An escape that was cut is omitted. */
function beginning(json: string): string {
  for (let cut = 0; cut < ESCAPE_LENGTH; cut += 1) {
    try {
      return JSON.parse(`${json.slice(0, json.length - cut)}"`) as string;
    } catch {}
  }
  throw new NotJson();
}
