/** The marks of JSON: the characters that give a text its structure. A string is one mark. */
export const QUOTE = 34;
export const COMMA = 44;
export const COLON = 58;
export const OPEN_LIST = 91;
export const CLOSE_LIST = 93;
export const OPEN_RECORD = 123;
export const CLOSE_RECORD = 125;
/** There is no further mark. A string without an end is no mark. */
export const END = -1;
/** There is no mark before the index up to which the caller reads at once. */
export const MORE = -2;

const BACKSLASH = 92;
/** The bit by which a brace differs from a bracket. */
const BRACE = 32;

export const isOpening = (mark: number): boolean => (mark | BRACE) === OPEN_RECORD;
export const isClosing = (mark: number): boolean => (mark | BRACE) === CLOSE_RECORD;

const BLANK = /^[ \t\n\r]*$/;
/** Backslashes before a quotation mark that are counted at once. */
const LONG_RUN = 1024;
/** What a string holds before backslashes that are not counted at once. */
const CONTENT = /(?:[^"\\]|\\[^]){1,16384}/y;

/** V8 hashes longer strings by their length alone: objects, maps and sets compare each with all others of its length. */
export const HASHED_LENGTH = 16_383;
/** Values for which the first name counts that is longer; the second counts for twice as many, and so on. One of several times that length counts for several. */
const LONG_NAME_VALUES = 64;
const NAME_END = /[ \t\r\n]*:/y;

/**
 * What was passed. `values` is an upper bound, the whole text included; very long names count for many, as parsing them costs. `rows` counts the rows or fields of the
 * container at level `outer` after its first. `depth` is the deepest level.
 */
export interface Count {
  values: number;
  rows: number;
  depth: number;
}

export function newCount(): Count {
  return { values: 1, rows: 0, depth: 0 };
}

/** A level that no text reaches. */
const NO_LEVEL = -1_000_000_000;

/**
 * Finds the marks of a text that may be JSON, without parsing it, in time linear in its length. Numbers, words and white
 * space stand between two marks. The caller decides whether the text is JSON.
 */
export class JsonScanner {
  readonly #text: string;
  /** How far the text was read. */
  at = 0;
  /** Where the last mark begins, and the index after it. */
  start = 0;
  end = 0;
  /** Containers that are open after the last mark. */
  level = 0;
  /** Index after the mark before the last. */
  #endBefore = 0;
  /** Where the string that is being read begins; -1 outside of a string. */
  #string = -1;
  /** Index of the quotation mark that the last search found, so that each step of a string needs no search of its own. */
  #quote = -1;
  /** Names so far that are longer than `HASHED_LENGTH`. */
  #longNames = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#text.length;
  }

  /** What stands between the last two marks. */
  get between(): string {
    return this.#text.slice(this.#endBefore, this.start);
  }

  get isBlankBetween(): boolean {
    return this.#endBefore === this.start || BLANK.test(this.between);
  }

  /** The last mark as it is written: a whole string. */
  get written(): string {
    return this.#text.slice(this.start, this.end);
  }

  /** The next mark, `END`, or `MORE` if there is none before `until`. */
  next(until = this.#text.length): number {
    if (this.#string >= 0) return this.#passString(until);
    const text = this.#text;
    const stop = Math.min(until, text.length);
    for (let at = this.at; at < stop; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit === QUOTE) {
        this.#string = at;
        this.at = at + 1;
        return this.#passString(until);
      }
      if (isOpening(unit)) this.level += 1;
      else if (isClosing(unit)) this.level -= 1;
      else if (unit !== COMMA && unit !== COLON) continue;
      return this.#mark(at, at + 1, unit);
    }
    this.at = stop;
    return stop < text.length ? MORE : this.#mark(stop, stop, END);
  }

  /**
   * Passes the marks before `until` and counts them, up to the mark that closes the container of the level `outer`. This
   * takes as little as half the time of `next` for each mark.
   */
  pass(count: Count, until = this.#text.length, outer = NO_LEVEL): void {
    const text = this.#text;
    let { values, rows, depth } = count;
    if (this.#string >= 0) values += this.#passCounted(until);
    const stop = Math.min(until, text.length);
    let { at, level } = this;
    for (; at < stop; at += 1) {
      const unit = text.charCodeAt(at);
      // Digits above all: this comparison makes long lists of numbers half again as fast.
      if (unit > COMMA && unit < OPEN_LIST) continue;
      if (unit === QUOTE) {
        this.#string = at;
        this.at = at + 1;
        values += this.#passCounted(until);
        at = this.at - 1;
      } else if (unit === COMMA) {
        values += 1;
        if (level === outer) rows += 1;
      } else if (isOpening(unit)) {
        level += 1;
        values += 1;
        if (level > depth) depth = level;
      } else if (isClosing(unit)) {
        level -= 1;
        if (level < outer) {
          at += 1;
          break;
        }
      }
    }
    this.at = at;
    this.end = at;
    this.level = level;
    count.values = values;
    count.rows = rows;
    count.depth = depth;
  }

  /** Passes a string as far as `until`. Returns the values for which it counts beside itself: as a very long name. */
  #passCounted(until: number): number {
    if (this.#passString(until) !== QUOTE || this.end - this.start <= HASHED_LENGTH) return 0;
    NAME_END.lastIndex = this.end;
    if (!NAME_END.test(this.#text)) return 0;
    this.#longNames += 1;
    return this.#longNames * LONG_NAME_VALUES * Math.floor((this.end - this.start) / HASHED_LENGTH);
  }

  #mark(start: number, end: number, mark: number): number {
    this.#endBefore = this.end;
    this.start = start;
    this.end = end;
    this.at = end;
    return mark;
  }

  /** Reads to the end of a string, or beyond `until`. */
  #passString(until: number): number {
    const text = this.#text;
    for (let at = this.at; ;) {
      if (this.#quote < at) this.#quote = text.indexOf('"', at);
      const quote = this.#quote;
      if (quote < 0) return this.#mark(text.length, text.length, END);
      const least = Math.max(at, quote - LONG_RUN);
      let run = quote;
      while (run > least && text.charCodeAt(run - 1) === BACKSLASH) run -= 1;
      if (run > at && run === least) {
        CONTENT.lastIndex = at;
        CONTENT.test(text);
        at = CONTENT.lastIndex;
      } else {
        at = quote + 1;
        if ((quote - run) % 2 === 0) return this.#closeString(at);
      }
      this.at = at;
      if (at >= until && at < text.length) return MORE;
    }
  }

  #closeString(end: number): number {
    const start = this.#string;
    this.#string = -1;
    return this.#mark(start, end, QUOTE);
  }
}

/** Measurements of a JSON text, taken before it is parsed. */
export type Measurements = Readonly<Omit<Count, "rows">>;

/** Nesting depth, and an upper bound of the number of values, of a text that may be JSON. */
export function measure(text: string): Measurements {
  const count = newCount();
  new JsonScanner(text).pass(count);
  return count;
}
