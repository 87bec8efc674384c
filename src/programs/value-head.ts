import { COMMA, endOfString, isClosing, isOpening, PLAIN_DEPTH, QUOTE } from "../gate/plain-data.ts";

/** A value of which only the beginning was read. */
export interface ValueHead {
  /** The value, its lists and records cut after their first entries. */
  readonly value: unknown;
  /** How many entries a cut list or record has in truth. */
  readonly counts: ReadonlyMap<object, number>;
}

/** Fields that are read of a record near the root though the room is used up, so that its shape can be told. */
const FIELDS = 24;
const FIELDS_DEPTH = 1;
/** The same for lists, at any depth. */
const ROWS = 1;

/** Room that a container takes beside its entries. */
const CONTAINER_LENGTH = 2;

class NotJson extends Error {}

/**
 * Reads the beginning of a large value: about as much as there is room for, in characters, and of what follows only
 * as much as its shape needs. What is left out is passed over, not parsed, so that the rest of it costs the host's
 * thread little. Undefined where what was read is no plain JSON.
 */
export function readHead(text: string, room: number): ValueHead | undefined {
  try {
    return new HeadReader(text, room).read();
  } catch (error) {
    if (error instanceof NotJson || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

class HeadReader {
  readonly #text: string;
  #room: number;
  #at = 0;
  readonly #counts = new Map<object, number>();

  constructor(text: string, room: number) {
    this.#text = text;
    this.#room = room;
  }

  read(): ValueHead {
    const value = this.#value(0);
    if (this.#peek() !== "") throw new NotJson();
    return { value, counts: this.#counts };
  }

  #value(depth: number): unknown {
    if (depth > PLAIN_DEPTH) throw new NotJson();
    const first = this.#peek();
    if (first === "[") return this.#list(depth);
    if (first === "{") return this.#record(depth);
    return JSON.parse(this.#leaf());
  }

  #list(depth: number): unknown[] {
    const list: unknown[] = [];
    const isWanted = (index: number) => this.#room > 0 || index < ROWS;
    const count = this.#entries("]", isWanted, () => list.push(this.#value(depth + 1)));
    if (count > list.length) this.#counts.set(list, count);
    return list;
  }

  #record(depth: number): object {
    const record: Record<string, unknown> = {};
    let taken = 0;
    const isWanted = (index: number) => this.#room > 0 || (depth <= FIELDS_DEPTH && index < FIELDS);
    const count = this.#entries("}", isWanted, () => {
      const name = this.#peek() === '"' ? (JSON.parse(this.#leaf()) as string) : "__proto__";
      if (name === "__proto__" || this.#peek() !== ":") throw new NotJson();
      this.#at += 1;
      record[name] = this.#value(depth + 1);
      taken += 1;
    });
    if (count > taken) this.#counts.set(record, count);
    return record;
  }

  /** Has the entries of a container read, as many as `isWanted`, and returns how many there are in all. */
  #entries(closing: string, isWanted: (index: number) => boolean, readEntry: () => void): number {
    this.#at += 1;
    this.#room -= CONTAINER_LENGTH;
    if (this.#peek() === closing) {
      this.#at += 1;
      return 0;
    }
    for (let count = 0; ; count += 1) {
      if (!isWanted(count)) return count + this.#passEntries(closing);
      readEntry();
      const next = this.#peek();
      this.#at += 1;
      if (next === closing) return count + 1;
      if (next !== ",") throw new NotJson();
    }
  }

  /** The text of a string, number or word. */
  #leaf(): string {
    const start = this.#at;
    if (this.#text[start] === '"') this.#at = endOfString(this.#text, start) + 1;
    else while (this.#at < this.#text.length && !",:]}".includes(this.#text[this.#at] as string)) this.#at += 1;
    if (this.#at === start || this.#at > this.#text.length) throw new NotJson();
    this.#room -= this.#at - start;
    return this.#text.slice(start, this.#at);
  }

  /** Goes past the rest of a container, to behind its end, without reading it; returns how many entries it had. */
  #passEntries(closing: string): number {
    const text = this.#text;
    let count = 1;
    let level = 1;
    for (let index = this.#at; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit === QUOTE) index = endOfString(text, index);
      else if (unit === COMMA) count += level === 1 ? 1 : 0;
      else if (isOpening(unit)) level += 1;
      else if (isClosing(unit)) level -= 1;
      if (level > 0) continue;
      if (text[index] !== closing) break;
      this.#at = index + 1;
      return count;
    }
    throw new NotJson();
  }

  /** The next character that is no white space; empty at the end. */
  #peek(): string {
    while (" \n\r\t".includes(this.#text[this.#at] ?? "!")) this.#at += 1;
    return this.#text[this.#at] ?? "";
  }
}
