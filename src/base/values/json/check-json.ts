import { createHash } from "node:crypto";
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

/** Maximum length of the field name `__proto__` with each of its characters escaped, in quotation marks. */
const PROTO_LENGTH = 6 * "__proto__".length + 2;
/** Valid characters of a string. */
const CHARACTERS = /(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){1,16384}/y;

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
    const long = word.length > NUMBER_LENGTH ? word.trim() : "";
    if (long.length > NUMBER_LENGTH)
      throw new Fault(/^[-0-9]/.test(long) ? `it holds a number of more than ${NUMBER_LENGTH} characters` : NOT_JSON);
    const value = parsed(word);
    if (typeof value === "number" && !Number.isFinite(value)) throw new Fault("it holds a number that is too large");
  }

  #string(): void {
    const { start, end } = this.#scanner;
    for (let at = start + 1; at < end - 1; at = CHARACTERS.lastIndex) {
      CHARACTERS.lastIndex = at;
      if (!CHARACTERS.test(this.#text)) throw new Fault(NOT_JSON);
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

/** Parts of a text that are hashed together. */
const TOGETHER = 1000;

/**
 * What texts of JSON have in common that say the same: they may differ in blanks between values, and in how characters are
 * escaped. The fields of an object have one order.
 */
export function jsonDigest(json: string): string {
  const digest = createHash("sha256");
  const scanner = new JsonScanner(json);
  let parts: string[] = [];
  for (;;) {
    const mark = scanner.next();
    const { between, written } = scanner;
    parts.push(between.trim(), mark === QUOTE ? JSON.stringify(parsedJson(written) ?? [written]) : written);
    if (parts.length > TOGETHER || mark === END) digest.update(parts.join(""));
    if (mark === END) return digest.digest("hex");
    if (parts.length > TOGETHER) parts = [];
  }
}
