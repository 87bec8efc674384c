import { hash } from "node:crypto";
import { NUMBER_LENGTH } from "./exact-json.ts";
import {
  CLOSE_LIST,
  CLOSE_RECORD,
  COLON,
  COMMA,
  END,
  isOpening,
  JsonScanner,
  OPEN_RECORD,
  QUOTE,
} from "./json-scanner.ts";
import { parsedJson } from "./json-text.ts";
import { PLAIN_DEPTH } from "./plain-data.ts";

/** Characters of a string that are checked at once. */
const STEP_LENGTH = 16 * 1024;
/** Maximum length of a string that takes longer to parse than to look at. */
const SHORT_LENGTH = 256;
/** Maximum length of the field name `__proto__` with each of its characters escaped, in quotation marks. */
const PROTO_LENGTH = 6 * "__proto__".length + 2;

/** A character of a string that needs a closer look. */
const SPECIAL = /[\\\u0000-\u001f]/;
/** Valid characters of a string. */
const CHARACTERS = /(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){1,16384}/y;

/** Most words, in a form that needs no parsing. */
const PLAIN_WORD = /^(?:-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,20})?|true|false|null)$/;

/** Why a text is no plain JSON. */
class Fault extends Error {}

const NOT_JSON = "it is not JSON";

/**
 * Checks a long text as `readPlainData` does, without parsing it: that it is JSON, of bounded depth, without a field
 * `__proto__` and without a number that is too large. Returns why the text is refused, or undefined.
 */
export function checkJson(text: string): string | undefined {
  try {
    new JsonChecker(text).check();
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

type Expected = "value" | "value or end" | "name" | "name or end" | "colon" | "comma or end";

class JsonChecker {
  readonly #text: string;
  readonly #scanner: JsonScanner;
  /** For each open container, whether it is a record. */
  readonly #open: boolean[] = [];
  #expected: Expected = "value";

  constructor(text: string) {
    this.#text = text;
    this.#scanner = new JsonScanner(text);
  }

  check(): void {
    let mark: number;
    do {
      mark = this.#scanner.next();
      if (!this.#scanner.isBlankBetween) this.#word(this.#scanner.between);
      if (mark === QUOTE) this.#string();
      else this.#take(mark);
    } while (mark !== END);
  }

  /** Takes a mark that is no string. */
  #take(mark: number): void {
    const isRecord = this.#open.at(-1);
    if (isOpening(mark)) return this.#takeOpening(mark === OPEN_RECORD);
    if (mark === COLON && this.#expected === "colon") this.#expected = "value";
    else if (mark === COMMA && this.#expected === "comma or end" && isRecord !== undefined)
      this.#expected = isRecord ? "name" : "value";
    else if (isRecord !== undefined && mark === (isRecord ? CLOSE_RECORD : CLOSE_LIST) && this.#mayClose(isRecord)) {
      this.#open.pop();
      this.#expected = "comma or end";
    } else if (mark !== END || isRecord !== undefined || this.#expected !== "comma or end") throw new Fault(NOT_JSON);
  }

  #mayClose(isRecord: boolean): boolean {
    return this.#expected === "comma or end" || this.#expected === (isRecord ? "name or end" : "value or end");
  }

  #takeOpening(isRecord: boolean): void {
    this.#takeValue();
    if (this.#open.length === PLAIN_DEPTH) throw new Fault(`it is nested more than ${PLAIN_DEPTH} levels deep`);
    this.#open.push(isRecord);
    this.#expected = isRecord ? "name or end" : "value or end";
  }

  #takeValue(): void {
    if (this.#expected !== "value" && this.#expected !== "value or end") throw new Fault(NOT_JSON);
    this.#expected = "comma or end";
  }

  /** Takes a number, a boolean or null. */
  #word(word: string): void {
    this.#takeValue();
    if (PLAIN_WORD.test(word)) return;
    const long = word.length > NUMBER_LENGTH ? word.trim() : "";
    if (long.length > NUMBER_LENGTH)
      throw new Fault(/^[-0-9]/.test(long) ? `it holds a number of more than ${NUMBER_LENGTH} characters` : NOT_JSON);
    const value = parsed(word);
    if (typeof value === "number" && !Number.isFinite(value)) throw new Fault("it holds a number that is too large");
  }

  /** Length of the valid part of a string from `at` on: at least a character. */
  #passSpecial(at: number): number {
    const { start, end } = this.#scanner;
    if (end - start > SHORT_LENGTH && end - start <= STEP_LENGTH) {
      parsed(this.#scanner.written);
      return end - at;
    }
    CHARACTERS.lastIndex = at;
    if (!CHARACTERS.test(this.#text)) throw new Fault(NOT_JSON);
    return CHARACTERS.lastIndex - at;
  }

  #string(): void {
    const { start, end } = this.#scanner;
    for (let at = start + 1; at < end - 1;) {
      const part = this.#text.slice(at, Math.min(end - 1, at + STEP_LENGTH));
      at += SPECIAL.test(part) ? this.#passSpecial(at) : part.length;
    }
    if (this.#expected !== "name" && this.#expected !== "name or end") return this.#takeValue();
    if (end - start <= PROTO_LENGTH && isProto(this.#scanner.written))
      throw new Fault("it has a field called __proto__");
    this.#expected = "colon";
  }
}

/** A text has many names, and parsing each would take long. */
function isProto(name: string): boolean {
  return name === '"__proto__"' || (name.includes("\\") && parsed(name) === "__proto__");
}

function parsed(json: string): unknown {
  const value = parsedJson(json);
  if (value === undefined) throw new Fault(NOT_JSON);
  return value;
}

/**
 * What texts of JSON have in common that say the same: they may differ in blanks between values, and in how characters are
 * escaped. The fields of an object have one order.
 */
export function jsonDigest(json: string): string {
  const units = new Uint16Array(json.length + 1);
  let length = 0;
  let isWithin = false;
  for (let at = 0; at < json.length;) {
    if (!isWithin && isBlank(json.charCodeAt(at))) {
      const before = at - 1;
      while (isBlank(json.charCodeAt(at))) at += 1;
      // Blanks in the midst of a number or a word are not between values.
      if (isWord(json.charCodeAt(before)) && isWord(json.charCodeAt(at))) units[length++] = BLANK;
      continue;
    }
    const isEscape = json.charCodeAt(at) === BACKSLASH;
    const isLong = isEscape && json.charCodeAt(at + 1) === U;
    const unit = isEscape ? escapedAt(json, at) : json.charCodeAt(at);
    if (unit === QUOTE && !isEscape) isWithin = !isWithin;
    const isMalformed = Number.isNaN(unit);
    if (isMalformed || (isEscape && (unit === QUOTE || unit === BACKSLASH))) units[length++] = BACKSLASH;
    units[length++] = isMalformed ? U : unit;
    at += isLong ? 6 : isEscape ? 2 : 1;
  }
  return hash("sha256", units.subarray(0, length));
}

const BLANK = 0x20;
const BACKSLASH = 0x5c;
const U = 0x75;
/** Escapes of one character that stand for another. */
const SHORT: ReadonlyMap<number, number> = new Map(
  Object.entries({ b: 8, t: 9, n: 10, f: 12, r: 13 }).map(([name, unit]) => [name.charCodeAt(0), unit]),
);

const isBlank = (unit: number): boolean => unit === BLANK || unit === 0x0a || unit === 0x0d || unit === 0x09;

/** Digits, letters, "+", "-" and ".". */
const isWord = (unit: number): boolean =>
  (unit >= 0x30 && unit <= 0x39) ||
  ((unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x7a) ||
  unit === 0x2b ||
  unit === 0x2d ||
  unit === 0x2e;

/** The unit that the escape there stands for. */
function escapedAt(json: string, at: number): number {
  const kind = json.charCodeAt(at + 1);
  return kind === U ? Number.parseInt(json.slice(at + 2, at + 6), 16) : (SHORT.get(kind) ?? kind);
}
