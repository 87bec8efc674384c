import { PLAIN_DEPTH } from "./plain-data.ts";
import type { SlicedWork } from "./slice-scheduler.ts";

/** Characters that are checked between two chances to yield the host's thread. */
const STEP_LENGTH = 16 * 1024;
/** Maximum length of a number, in characters. */
const NUMBER_LENGTH = 1024;
/** Maximum length of the field name `__proto__` with each of its characters escaped, in quotation marks. */
const PROTO_LENGTH = 6 * "__proto__".length + 2;

const TAB = 9;
const LINE_FEED = 10;
const RETURN = 13;
const SPACE = 32;
const QUOTE = 34;
const PLUS = 43;
const COMMA = 44;
const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const LOWER_U = 117;
const OPEN_RECORD = 123;
const CLOSE_RECORD = 125;

/** Why a text is no plain JSON. */
class Fault extends Error {}

const NOT_JSON = "it is not JSON";

/**
 * Checks a long text as `readPlainData` does, without parsing it: that it is JSON, of bounded depth, without a field
 * `__proto__` and without a number that is too large. Yields the host's thread. Returns why the text is refused, or
 * undefined.
 */
export function* checkJson(text: string): SlicedWork<string | undefined> {
  try {
    yield* new JsonChecker(text).check();
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

type Expected = "value" | "value or end" | "name" | "name or end" | "comma or end";

class JsonChecker {
  readonly #text: string;
  #at = 0;
  /** For each open container, whether it is a record. */
  readonly #open: boolean[] = [];
  #expected: Expected = "value";

  constructor(text: string) {
    this.#text = text;
  }

  *check(): SlicedWork<void> {
    let stop = STEP_LENGTH;
    do {
      if (this.#at >= stop) {
        stop = this.#at + STEP_LENGTH;
        yield;
      }
      const first = this.#next();
      if (first === QUOTE) yield* this.#string();
      else this.#take(first);
    } while (this.#open.length > 0);
    if (!Number.isNaN(this.#next())) throw new Fault(NOT_JSON);
  }

  /** Takes what is no string: a bracket, a comma, a number or a word. */
  #take(first: number): void {
    const isRecord = this.#open.at(-1);
    if (this.#expected === "comma or end" && first === COMMA) {
      this.#at += 1;
      this.#expected = isRecord === true ? "name" : "value";
    } else if (first === (isRecord === true ? CLOSE_RECORD : CLOSE_LIST) && this.#mayClose(isRecord)) {
      this.#at += 1;
      this.#open.pop();
      this.#expected = "comma or end";
    } else this.#value(first);
  }

  #mayClose(isRecord: boolean | undefined): boolean {
    if (isRecord === undefined) return false;
    return this.#expected === "comma or end" || this.#expected === (isRecord ? "name or end" : "value or end");
  }

  #value(first: number): void {
    this.#expectValue();
    if (first === OPEN_LIST || first === OPEN_RECORD) {
      if (this.#open.length === PLAIN_DEPTH) throw new Fault(`it is nested more than ${PLAIN_DEPTH} levels deep`);
      this.#at += 1;
      this.#open.push(first === OPEN_RECORD);
      this.#expected = first === OPEN_RECORD ? "name or end" : "value or end";
      return;
    }
    if (first === MINUS || isDigit(first)) this.#number();
    else this.#word();
    this.#expected = "comma or end";
  }

  #expectValue(): void {
    if (this.#expected !== "value" && this.#expected !== "value or end") throw new Fault(NOT_JSON);
  }

  #word(): void {
    const word = ["true", "false", "null"].find((one) => this.#text.startsWith(one, this.#at));
    if (word === undefined) throw new Fault(NOT_JSON);
    this.#at += word.length;
  }

  #number(): void {
    const start = this.#at;
    if (this.#unit() === MINUS) this.#at += 1;
    if (this.#unit() === ZERO) this.#at += 1;
    else this.#digits();
    if (this.#unit() === DOT) {
      this.#at += 1;
      this.#digits();
    }
    // `e` and `E`
    if ((this.#unit() | SPACE) === 101) {
      this.#at += 1;
      if (this.#unit() === PLUS || this.#unit() === MINUS) this.#at += 1;
      this.#digits();
    }
    if (this.#at - start > NUMBER_LENGTH) throw new Fault(`it holds a number of more than ${NUMBER_LENGTH} characters`);
    if (!Number.isFinite(Number(this.#text.slice(start, this.#at))))
      throw new Fault("it holds a number that is too large");
  }

  #digits(): void {
    const start = this.#at;
    while (isDigit(this.#unit()) && this.#at - start <= NUMBER_LENGTH) this.#at += 1;
    if (this.#at === start) throw new Fault(NOT_JSON);
  }

  *#string(): SlicedWork<void> {
    const isName = this.#expected === "name" || this.#expected === "name or end";
    if (!isName) this.#expectValue();
    const start = this.#at;
    this.#at += 1;
    while (!this.#passString(Math.min(this.#text.length, this.#at + STEP_LENGTH))) yield;
    if (!isName) {
      this.#expected = "comma or end";
      return;
    }
    this.#refuseProto(start);
    if (this.#next() !== COLON) throw new Fault(NOT_JSON);
    this.#at += 1;
    this.#expected = "value";
  }

  /** Passes characters of a string. Returns whether it is at its end. A separate method, because loops in generators are slow. */
  #passString(until: number): boolean {
    const text = this.#text;
    for (let at = this.#at; at < until; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit === QUOTE) {
        this.#at = at + 1;
        return true;
      }
      if (unit < SPACE) throw new Fault(NOT_JSON);
      if (unit === BACKSLASH) at += this.#escapeLength(at) - 1;
      this.#at = at + 1;
    }
    if (this.#at >= text.length) throw new Fault(NOT_JSON);
    return false;
  }

  #escapeLength(at: number): number {
    const kind = this.#text.charCodeAt(at + 1);
    if (kind !== LOWER_U) {
      if (!'"\\/bfnrt'.includes(this.#text[at + 1] ?? "?")) throw new Fault(NOT_JSON);
      return 2;
    }
    if (!/^[0-9a-f]{4}$/i.test(this.#text.slice(at + 2, at + 6))) throw new Fault(NOT_JSON);
    return 6;
  }

  #refuseProto(start: number): void {
    if (this.#at - start > PROTO_LENGTH) return;
    if (JSON.parse(this.#text.slice(start, this.#at)) === "__proto__")
      throw new Fault("it has a field called __proto__");
  }

  /** Skips white space, and returns the next unit; NaN at the end. */
  #next(): number {
    for (;;) {
      const unit = this.#unit();
      if (unit !== SPACE && unit !== LINE_FEED && unit !== RETURN && unit !== TAB) return unit;
      this.#at += 1;
    }
  }

  #unit(): number {
    return this.#text.charCodeAt(this.#at);
  }
}

function isDigit(unit: number): boolean {
  return unit >= ZERO && unit <= NINE;
}
