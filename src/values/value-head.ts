import { COMMA, isClosing, isOpening, PLAIN_DEPTH, QUOTE } from "./plain-data.ts";
import type { Lane, SlicedWork } from "./slice-scheduler.ts";

/** A value of which only the beginning was read. */
export interface ValueHead {
  /** The value, its lists, records and texts cut after their beginnings. */
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
/** Most characters that JSON needs for one. */
const ESCAPE_LENGTH = 6;
/** Texts and names up to this length are read whole, however little room there is. */
const SHORT_LENGTH = 1024;
/** Characters that are passed over before it is asked whether others should get the host's thread. */
const STEP_LENGTH = 16 * 1024;

const SPACE = /[ \n\r\t]*/y;
const WORD = /[^,:\]}]*/y;

class NotJson extends Error {}

/**
 * Reads the beginning of a large value: about as much as there is room for, in characters, and of what follows only
 * as much as its shape needs. What is left out is passed over, not parsed, while others get the host's thread in
 * between. Undefined where what was read is no plain JSON.
 */
export async function readHead(text: string, room: number, lane: Lane): Promise<ValueHead | undefined> {
  try {
    return await lane.work(new HeadReader(text, room).read());
  } catch (error) {
    if (error instanceof NotJson || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** What is open where others get the thread. */
interface Rest {
  level: number;
  inString: boolean;
  commas: number;
}

class HeadReader {
  readonly #text: string;
  /** Characters that are read of a text or a name: more than there is room for, however it is written. */
  readonly #most: number;
  #room: number;
  #at = 0;
  /** Where the next quotation mark and the next backslash stand, as far as that was looked for. */
  #quote = -1;
  #backslash = -1;
  readonly #counts = new Map<object, number>();

  constructor(text: string, room: number) {
    this.#text = text;
    this.#most = room * ESCAPE_LENGTH + SHORT_LENGTH;
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

  /** Reads entries while there is room, and `least` in any case; notes how many there are where some are passed over. */
  *#container(
    container: unknown[] | Record<string, unknown>,
    closing: string,
    depth: number,
    least: number,
  ): SlicedWork<object> {
    this.#at += 1;
    this.#room -= CONTAINER_LENGTH;
    if (this.#peek() === closing) {
      this.#at += 1;
      return container;
    }
    let count = 0;
    for (; this.#room > 0 || count < least; count += 1) {
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
    // Of names that were cut several may begin alike, and each must count.
    const name = this.#at - start > this.#most ? `${read}…${start}` : read;
    if (name === "__proto__" || this.#peek() !== ":") throw new NotJson();
    this.#at += 1;
    return name;
  }

  /** A number or a word. */
  *#word(): SlicedWork<unknown> {
    const start = this.#at;
    this.#pass(WORD);
    this.#room -= this.#at - start;
    yield;
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  /** A text, or its beginning where it is long. */
  *#string(): SlicedWork<string> {
    const start = this.#at;
    this.#at += 1;
    yield* this.#passRest("string");
    const length = this.#at - start;
    this.#room -= length;
    return length > this.#most
      ? beginning(this.#text.slice(start, start + this.#most))
      : (JSON.parse(this.#text.slice(start, this.#at)) as string);
  }

  /** Goes past the end of the container or the string that it is in, without reading what follows there; returns how many commas a container's entries had between them. */
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

  /** Apart from the generator, in which V8 takes twice as long. */
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

  /** Where something stands next; the text's length where it does not. */
  #find(what: string, from: number): number {
    const index = this.#text.indexOf(what, from);
    return index < 0 ? this.#text.length : index;
  }

  /** The next character that is no white space; empty at the end. */
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

/** What the beginning of a string's JSON says; where it was cut within an escape, what stands before that. */
function beginning(json: string): string {
  for (let cut = 0; cut < ESCAPE_LENGTH; cut += 1) {
    try {
      return JSON.parse(`${json.slice(0, json.length - cut)}"`) as string;
    } catch {}
  }
  throw new NotJson();
}
