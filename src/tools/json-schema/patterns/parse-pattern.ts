/** A pattern that cannot be matched in linear time. The message is a predicate: "has …". */
export class PatternRefused extends Error {}

/** A regular expression for testing only: without captures, and without the order of alternatives. */
export type Pattern =
  /** One code point: a literal, a class or an escape. */
  | { readonly type: "one"; readonly matches: (codePoint: number) => boolean }
  | { readonly type: "sequence" | "choice"; readonly parts: readonly Pattern[] }
  | { readonly type: "repeat"; readonly part: Pattern; readonly min: number; readonly max: number }
  | { readonly type: "start" | "end" | "boundary" | "noBoundary" }
  | { readonly type: "look"; readonly part: Pattern; readonly behind: boolean; readonly negative: boolean };

/** Maximum depth of nested groups. */
const MAX_DEPTH = 100;

/** An escape. Two escaped halves of a surrogate pair are one escape. */
const ESCAPE =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[a-zA-Z]|[pP]\{[^}]*\}|[^])/uy;
const QUANTIFIER = /(?:[*+?]|\{(\d+)(,(\d*))?\})\??/uy;
const GROUP = /\((?:\?(?::|(<?[=!])|<[^=!>][^>]*>))?/uy;

/** Parses a pattern as ECMAScript does with the flag `u`. Throws a `PatternRefused`. */
export function parsePattern(source: string): Pattern {
  // V8 checks the syntax, so the parser may assume a valid pattern.
  if (!isPattern(source)) throw new PatternRefused("is not an ECMAScript regular expression with the flag u");
  return new PatternParser(source).parse();
}

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

class PatternParser {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  parse(): Pattern {
    return this.#choice(0);
  }

  #choice(depth: number): Pattern {
    if (depth > MAX_DEPTH) throw new PatternRefused(`has more than ${MAX_DEPTH} nested groups`);
    const choices: Pattern[] = [];
    let parts: Pattern[] = [];
    for (; this.#at < this.#source.length && this.#source[this.#at] !== ")";) {
      if (this.#source[this.#at] !== "|") {
        parts.push(this.#quantified(this.#term(depth)));
        continue;
      }
      this.#at += 1;
      choices.push({ type: "sequence", parts });
      parts = [];
    }
    const last: Pattern = { type: "sequence", parts };
    return choices.length === 0 ? last : { type: "choice", parts: [...choices, last] };
  }

  #term(depth: number): Pattern {
    switch (this.#source[this.#at]) {
      case "(":
        return this.#group(depth);
      case "[":
        return this.#class();
      case "\\":
        return this.#escape();
      case "^":
        this.#at += 1;
        return { type: "start" };
      case "$":
        this.#at += 1;
        return { type: "end" };
      case ".":
        this.#at += 1;
        return classOf("[^\\n\\r\\u2028\\u2029]");
      default: {
        const own = this.#source.codePointAt(this.#at) ?? 0;
        this.#at += own > 0xffff ? 2 : 1;
        return { type: "one", matches: (codePoint) => codePoint === own };
      }
    }
  }

  #group(depth: number): Pattern {
    const opening = this.#take(GROUP);
    // `(?i:…)` and syntax of later editions.
    if (opening === undefined || (opening[0] === "(" && this.#source[this.#at] === "?"))
      throw new PatternRefused("has a group that changes flags");
    const part = this.#choice(depth + 1);
    this.#at += 1;
    const [, look] = opening;
    return look === undefined
      ? part
      : { type: "look", part, behind: look.startsWith("<"), negative: look.endsWith("!") };
  }

  #class(): Pattern {
    const start = this.#at;
    while (this.#source[this.#at] !== "]") this.#at += this.#source[this.#at] === "\\" ? 2 : 1;
    this.#at += 1;
    return classOf(this.#source.slice(start, this.#at));
  }

  #escape(): Pattern {
    const [escape = ""] = this.#take(ESCAPE) ?? [];
    if (escape === "\\b") return { type: "boundary" };
    if (escape === "\\B") return { type: "noBoundary" };
    if (/^\\[1-9k]/.test(escape)) throw new PatternRefused("refers back to one of its groups");
    return classOf(escape);
  }

  #quantified(part: Pattern): Pattern {
    const taken = this.#take(QUANTIFIER);
    if (taken === undefined) return part;
    const [text, min, comma, max] = taken;
    if (min !== undefined)
      return {
        type: "repeat",
        part,
        min: Number(min),
        max: comma === undefined ? Number(min) : max === "" ? Number.POSITIVE_INFINITY : Number(max),
      };
    return {
      type: "repeat",
      part,
      min: text.startsWith("+") ? 1 : 0,
      max: text.startsWith("?") ? 1 : Number.POSITIVE_INFINITY,
    };
  }

  #take(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const taken = expression.exec(this.#source) ?? undefined;
    this.#at += taken?.[0].length ?? 0;
    return taken;
  }
}

/** A class, an escape or a dot. V8 tests one code point at a time; results for ASCII are cached. */
function classOf(source: string): Pattern {
  const expression = new RegExp(`^${source}$`, "u");
  const known = new Int8Array(128);
  return {
    type: "one",
    matches(codePoint) {
      if (codePoint >= known.length) return expression.test(String.fromCodePoint(codePoint));
      if (known[codePoint] === 0) known[codePoint] = expression.test(String.fromCodePoint(codePoint)) ? 1 : -1;
      return known[codePoint] === 1;
    },
  };
}
