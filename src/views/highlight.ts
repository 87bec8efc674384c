/** A piece of a source of one kind, which names its colour: a class of the page's style sheet. */
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
  const highlighter = new LineHighlighter(language);
  return source.split("\n").map((line) => highlighter.line(line));
}

/** Characters after which a slash divides. */
const ENDS_VALUE = /[\w$)\]}"'`]/;
const NAME_START = /[\p{L}_$]/u;
const NAME_PART = /[\p{L}\p{N}_$]/u;
const DIGIT = /[0-9]/;
const NUMBER_PART = /[0-9a-zA-Z_.]/;

/** A slash without an end is looked at no further, so that many of them take no longer. */
const MAX_REG_EXP = 400;

/** What a line leaves open, so that it goes on in the next one. */
interface Open {
  readonly kind: "comment" | "string";
  readonly end: string;
  /** Whether it goes on without a backslash at the end of the line. */
  readonly isLong: boolean;
}

/** Colours the lines of a source, one after the other. */
class LineHighlighter {
  readonly #grammar: Grammar;
  #open: Open | undefined;
  /** The last character that is no space. */
  #before = "";
  #line = "";
  #at = 0;

  constructor(language: string) {
    this.#grammar = language === "python" ? PYTHON : JAVASCRIPT;
  }

  /** The tokens of the next line. */
  line(line: string): readonly Token[] {
    this.#line = line;
    this.#at = 0;
    const tokens: Token[] = [];
    let plainFrom = 0;
    if (this.#open) {
      const kind = this.#passOpen(this.#open);
      plainFrom = this.#at;
      if (plainFrom > 0) tokens.push({ kind, text: this.#taken(0, kind) });
    }
    while (this.#at < line.length) {
      const from = this.#at;
      const kind = this.#next();
      const text = this.#taken(from, kind);
      if (kind === "") continue;
      if (from > plainFrom) tokens.push({ kind: "", text: line.slice(plainFrom, from) });
      tokens.push({ kind, text });
      plainFrom = this.#at;
    }
    if (plainFrom < line.length) tokens.push({ kind: "", text: line.slice(plainFrom) });
    return tokens;
  }

  #taken(from: number, kind: Token["kind"]): string {
    const text = this.#line.slice(from, this.#at);
    const last = text.trimEnd().at(-1);
    if (kind !== "comment" && last !== undefined) this.#before = last;
    return text;
  }

  /** Goes over one token, and says of which kind it is. */
  #next(): Token["kind"] {
    const { comment, blockComment, regExps, longQuotes, quotes, keywords } = this.#grammar;
    const character = this.#line[this.#at] ?? "";
    if (this.#line.startsWith(comment, this.#at)) {
      this.#at = this.#line.length;
      return "comment";
    }
    if (blockComment && this.#line.startsWith("/*", this.#at)) {
      this.#at += 2;
      return this.#passOpen({ kind: "comment", end: "*/", isLong: true });
    }
    const long = longQuotes.find((quote) => this.#line.startsWith(quote, this.#at));
    const quote = long ?? (quotes.includes(character) ? character : undefined);
    if (quote !== undefined) {
      this.#at += quote.length;
      return this.#passOpen({ kind: "string", end: quote, isLong: long !== undefined });
    }
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

  /** Goes to the end of a comment or a string that has begun, or to the end of the line. */
  #passOpen(open: Open): Token["kind"] {
    const { kind, end, isLong } = open;
    this.#open = undefined;
    while (this.#at < this.#line.length) {
      if (kind === "string" && this.#line[this.#at] === "\\") this.#at += 2;
      else if (this.#line.startsWith(end, this.#at)) {
        this.#at += end.length;
        return kind;
      } else this.#at += 1;
    }
    // A backslash at the end takes the line break into the string.
    if (isLong || this.#at > this.#line.length) this.#open = open;
    this.#at = this.#line.length;
    return kind;
  }

  /** Whether what follows is a regular expression, which ends in its line. */
  #passRegExp(): boolean {
    let isClass = false;
    for (let at = this.#at + 1; at < Math.min(this.#line.length, this.#at + MAX_REG_EXP); at += 1) {
      const character = this.#line[at];
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
    while (this.#at < this.#line.length && part.test(this.#line[this.#at] ?? "")) this.#at += 1;
    return this.#line.slice(from, this.#at);
  }
}
