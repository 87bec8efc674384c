/** A piece of a source of one kind. `kind` is a class of the style sheet; empty for the rest. */
export interface Token {
  readonly kind: "" | "comment" | "string" | "number" | "keyword" | "tools";
  readonly text: string;
}

interface Grammar {
  readonly comment: string;
  readonly blockComment: boolean;
  readonly regExps: boolean;
  readonly longQuotes: readonly string[];
  readonly quotes: string;
  readonly keywords: ReadonlySet<string>;
}

const words = (text: string) => new Set(text.split(" "));

const JAVASCRIPT: Grammar = {
  comment: "//",
  blockComment: true,
  regExps: true,
  longQuotes: ["`"],
  quotes: "\"'",
  keywords: words(
    "as async await break case catch class const continue debugger default delete do else export extends false finally for from function if import in instanceof interface let new null of return static super switch this throw true try type typeof undefined var void while yield",
  ),
};

const PYTHON: Grammar = {
  comment: "#",
  blockComment: false,
  regExps: false,
  longQuotes: ['"""', "'''"],
  quotes: "\"'",
  keywords: words(
    "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield",
  ),
};

/**
 * The lines of a source, each as its tokens. Each character is looked at a bounded number of times, whatever the source: the
 * patterns of highlighting libraries take seconds for some sources.
 */
export function highlight(source: string, language: string): readonly (readonly Token[])[] {
  const lexer = new Lexer(source, language === "python" ? PYTHON : JAVASCRIPT);
  const lines: Token[][] = [[]];
  for (const { kind, text } of lexer.tokens())
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ kind, text: part });
    }
  return lines;
}

/** Characters after which a slash divides. */
const ENDS_VALUE = /[\w$)\]}"'`]/;
const NAME_START = /[\p{L}_$]/u;
const NAME_PART = /[\p{L}\p{N}_$]/u;
const DIGIT = /[0-9]/;
const NUMBER_PART = /[0-9a-zA-Z_.]/;

class Lexer {
  readonly #source: string;
  readonly #grammar: Grammar;
  #at = 0;
  /** The last character that is no space. */
  #before = "";

  constructor(source: string, grammar: Grammar) {
    this.#source = source;
    this.#grammar = grammar;
  }

  *tokens(): Generator<Token> {
    let plainFrom = 0;
    while (this.#at < this.#source.length) {
      const from = this.#at;
      const kind = this.#next();
      const text = this.#source.slice(from, this.#at);
      const last = text.trimEnd().at(-1);
      if (kind !== "comment" && last !== undefined) this.#before = last;
      if (kind === "") continue;
      if (from > plainFrom) yield { kind: "", text: this.#source.slice(plainFrom, from) };
      yield { kind, text };
      plainFrom = this.#at;
    }
    if (plainFrom < this.#source.length) yield { kind: "", text: this.#source.slice(plainFrom) };
  }

  /** Goes over one token, and says of which kind it is. */
  #next(): Token["kind"] {
    const { comment, blockComment, regExps, longQuotes, quotes, keywords } = this.#grammar;
    const character = this.#source[this.#at] ?? "";
    if (this.#source.startsWith(comment, this.#at)) return this.#passTo("\n", "comment", 0);
    if (blockComment && this.#source.startsWith("/*", this.#at)) return this.#passTo("*/", "comment", 2);
    const long = longQuotes.find((quote) => this.#source.startsWith(quote, this.#at));
    if (long !== undefined) return this.#passString(long, true);
    if (quotes.includes(character)) return this.#passString(character, false);
    if (regExps && character === "/" && !ENDS_VALUE.test(this.#before) && this.#passRegExp()) return "string";
    if (NAME_START.test(character)) {
      const name = this.#passWhile(NAME_PART);
      return keywords.has(name) ? "keyword" : name === "tools" ? "tools" : "";
    }
    if (DIGIT.test(character)) {
      this.#passWhile(NUMBER_PART);
      return "number";
    }
    this.#at += 1;
    return "";
  }

  #passTo(end: string, kind: Token["kind"], length: number): Token["kind"] {
    const found = this.#source.indexOf(end, this.#at + length);
    this.#at = found < 0 ? this.#source.length : found + length;
    return kind;
  }

  #passString(quote: string, isLong: boolean): Token["kind"] {
    this.#at += quote.length;
    while (this.#at < this.#source.length) {
      const character = this.#source[this.#at];
      if (character === "\\") this.#at += 1;
      else if (character === "\n" && !isLong) break;
      else if (this.#source.startsWith(quote, this.#at)) {
        this.#at += quote.length;
        break;
      }
      this.#at += 1;
    }
    this.#at = Math.min(this.#at, this.#source.length);
    return "string";
  }

  /** Whether what follows is a regular expression, which ends in its line. */
  #passRegExp(): boolean {
    let isClass = false;
    for (let at = this.#at + 1; at < Math.min(this.#source.length, this.#at + MAX_REG_EXP); at += 1) {
      const character = this.#source[at];
      if (character === "\n") return false;
      if (character === "\\") at += 1;
      else if (character === "[") isClass = true;
      else if (character === "]") isClass = false;
      else if (character === "/" && !isClass) {
        this.#at = at + 1;
        return true;
      }
    }
    return false;
  }

  #passWhile(part: RegExp): string {
    const from = this.#at;
    while (this.#at < this.#source.length && part.test(this.#source[this.#at] ?? "")) this.#at += 1;
    return this.#source.slice(from, this.#at);
  }
}

/** A slash without an end is looked at no further, so that many of them take no longer. */
const MAX_REG_EXP = 400;
