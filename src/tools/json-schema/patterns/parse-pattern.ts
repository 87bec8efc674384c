import {
  CharacterSet,
  complementOf,
  DIGITS,
  LINE_ENDS,
  propertyNamed,
  type Range,
  SPACES,
  WORD,
} from "./character-set.ts";

/** A pattern that cannot be matched in linear time. The message is a predicate: "has …". */
export class PatternRefused extends Error {}

/** A regular expression for testing only: without captures, and without the order of alternatives. */
export type Pattern =
  /** One code point: a literal, a class or an escape. */
  | { readonly type: "one"; readonly set: CharacterSet }
  | { readonly type: "sequence" | "choice"; readonly parts: readonly Pattern[] }
  | { readonly type: "repeat"; readonly part: Pattern; readonly min: number; readonly max: number }
  | { readonly type: "start" | "end" | "boundary" | "noBoundary" }
  | { readonly type: "look"; readonly part: Pattern; readonly behind: boolean; readonly negative: boolean };

/** Maximum length of a pattern, in UTF-16 code units. */
const MAX_LENGTH = 4096;
/** Maximum depth of nested groups. */
const MAX_DEPTH = 100;

const QUANTIFIER = /(?:[*+?]|\{(\d+)(,(\d*))?\})\??/uy;
const GROUP = /\((?:\?(?:<?[=!]|<([^=!>][^>]*)>|([a-z-]*):))?/uy;
const GROUP_NAME = /^[$_\p{ID_Start}][$\u200c\u200d\p{ID_Continue}]*$/u;
const FLAGS = /^(?:[ims]+(?:-[ims]*)?|-[ims]+)$/;
/** An escape of one code point. Two escaped halves of a surrogate pair are one. */
const CHARACTER =
  /\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|c([a-zA-Z])|(0(?!\d)|[fnrtv]))/uy;
const NAMED_CHARACTERS: Readonly<Record<string, string>> = { 0: "\0", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };
/** An escape of what is no letter or digit, for itself. Escaped letters mean different things in different notations. */
const OWN = /\\([^A-Za-z0-9])/uy;
const SHORTHAND = /\\([dDsSwW])/uy;
const SHORTHANDS: Readonly<Record<string, readonly Range[]>> = { d: DIGITS, s: SPACES, w: WORD };
const PROPERTY = /\\([pP])\{([^}]*)\}/uy;
const REFERENCE = /\\(?:([1-9]\d*)|k<([^>]*)>)/uy;
/** Characters that stand for themselves only after a backslash. */
const SYNTAX = new Set("^$\\.*+?()[]{}|");
const NOT_LINE_END = new CharacterSet(LINE_ENDS, [], true);

/**
 * Parses a pattern as ECMAScript does with the flag `u`, and counts its groups and the members of its classes as states.
 * Takes also what is one without that flag, as far as other notations mean the same by it: `\-`, `[\w-.]`, and brackets that
 * stand for themselves. Throws a `PatternRefused`.
 */
export function parsePattern(source: string): { readonly pattern: Pattern; readonly states: number } {
  if (source.length > MAX_LENGTH)
    throw new PatternRefused(`has ${source.length} characters, and a pattern may have ${MAX_LENGTH}`);
  if (source.startsWith("/^")) throw new PatternRefused("is written between slashes, and so fits no text");
  const parser = new PatternParser(source);
  const pattern = parser.parse();
  if (parser.refusal !== undefined) throw new PatternRefused(parser.refusal);
  return { pattern, states: parser.states };
}

/** Whether a text is a regular expression, be it one that cannot be matched in linear time. */
export function isPattern(source: string): boolean {
  try {
    new PatternParser(source).parse();
    return true;
  } catch (error) {
    if (error instanceof PatternRefused) return false;
    throw error;
  }
}

/** What one place of a class is: a code point, or several. */
type ClassPart = { readonly point: number } | Named;
interface Named {
  readonly ranges: readonly Range[];
  readonly properties: readonly NonNullable<ReturnType<typeof propertyNamed>>[];
}

class PatternParser {
  readonly #source: string;
  /** Whether a class was empty or had a `[`: in other notations it goes on behind its first `]`. */
  #hasOddClass = false;
  #at = 0;
  /** Of groups, members of classes, and sets that take more than a state. */
  states = 0;
  /** Why the pattern cannot be matched in linear time. */
  refusal: string | undefined;
  /** One set for all places that say the same. */
  readonly #sets = new Map<string, CharacterSet>();
  #groups = 0;
  readonly #names = new Set<string>();
  readonly #references: (number | string)[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  parse(): Pattern {
    const pattern = this.#choice(0);
    if (this.#at < this.#source.length) throw notPattern();
    for (const reference of this.#references)
      if (typeof reference === "number" ? reference > this.#groups : !this.#names.has(reference)) throw notPattern();
    return pattern;
  }

  #choice(depth: number): Pattern {
    if (depth > MAX_DEPTH) throw new PatternRefused(`has more than ${MAX_DEPTH} nested groups`);
    const choices: Pattern[] = [];
    let parts: Pattern[] = [];
    for (; this.#at < this.#source.length && this.#next !== ")";) {
      if (this.#next !== "|") {
        parts.push(this.#term(depth));
        continue;
      }
      this.#at += 1;
      choices.push({ type: "sequence", parts });
      parts = [];
    }
    choices.push({ type: "sequence", parts });
    return choices.length === 1 ? choices[0]! : { type: "choice", parts: choices };
  }

  get #next(): string | undefined {
    return this.#source[this.#at];
  }

  #term(depth: number): Pattern {
    const next = this.#next ?? "";
    const assertion = ASSERTIONS[next === "\\" ? next + (this.#source[this.#at + 1] ?? "") : next];
    if (assertion !== undefined) {
      this.#at += next === "\\" ? 2 : 1;
      return { type: assertion };
    }
    if (next !== "(") return this.#quantified(this.#one());
    const group = this.#group(depth);
    return group.type === "look" ? group : this.#quantified(group);
  }

  #group(depth: number): Pattern {
    const [opening = "", name, flags] = this.#take(GROUP) ?? [];
    // `(?` that opens none of these groups.
    if (opening === "(" && this.#next === "?") throw notPattern();
    this.states += 1;
    if (opening === "(" || name !== undefined) this.#groups += 1;
    if (name !== undefined && !GROUP_NAME.test(name)) throw notPattern();
    if (name !== undefined) this.#names.add(name);
    if (flags !== undefined && flags !== "") {
      if (!FLAGS.test(flags)) throw notPattern();
      this.refusal ??= "has a group that changes flags";
    }
    const part = this.#choice(depth + 1);
    if (this.#next !== ")") throw notPattern();
    this.#at += 1;
    if (name !== undefined || !/[=!]$/.test(opening)) return part;
    return { type: "look", part, behind: opening.startsWith("(?<"), negative: opening.endsWith("!") };
  }

  #one(): Pattern {
    const start = this.#at;
    const next = this.#next ?? "";
    if (next === "\\" && /[1-9k]/.test(this.#source[start + 1] ?? "")) return this.#reference();
    const set = this.#setHere(next);
    const text = this.#source.slice(start, this.#at);
    const hit = this.#sets.get(text);
    if (hit) return { type: "one", set: hit };
    this.states += set.states;
    this.#sets.set(text, set);
    return { type: "one", set };
  }

  #setHere(next: string): CharacterSet {
    if (next === "[") return this.#class();
    if (next === ".") {
      this.#at += 1;
      return NOT_LINE_END;
    }
    if (next !== "\\" && SYNTAX.has(next) && !this.#standsForItself(next)) throw notPattern();
    const part = this.#character();
    return "point" in part
      ? new CharacterSet([[part.point, part.point]])
      : new CharacterSet(part.ranges, part.properties);
  }

  #standsForItself(next: string): boolean {
    // Before a digit it was meant to count: `{,5}` in other notations, or `{1-5}` by mistake.
    if (next === "{") return !/[\d,]/.test(this.#source[this.#at + 1] ?? "");
    return next === "}" || (next === "]" && !this.#hasOddClass);
  }

  #reference(): Pattern {
    const [, number, name] = this.#take(REFERENCE) ?? [];
    if (number === undefined && name === undefined) throw notPattern();
    this.#references.push(name ?? Number(number));
    this.refusal ??= "refers back to one of its groups";
    return { type: "sequence", parts: [] };
  }

  #class(): CharacterSet {
    this.#at += 1;
    const isNegated = this.#next === "^";
    if (isNegated) this.#at += 1;
    const ranges: Range[] = [];
    const properties: Named["properties"][number][] = [];
    const add = (part: ClassPart) => {
      ranges.push(...("point" in part ? [[part.point, part.point] as const] : part.ranges));
      if ("properties" in part) properties.push(...part.properties);
    };
    this.#hasOddClass ||= this.#next === "]";
    while (this.#next !== "]") {
      this.states += 1;
      this.#hasOddClass ||= this.#next === "[";
      const first = this.#classPart();
      if (this.#next === "-" && this.#source[this.#at + 1] !== "]") {
        this.#at += 1;
        const last = this.#classPart();
        if ("point" in first && "point" in last) {
          if (first.point > last.point) throw notPattern();
          ranges.push([first.point, last.point]);
          continue;
        }
        add(first);
        add({ point: HYPHEN });
        add(last);
      } else add(first);
    }
    this.#at += 1;
    return new CharacterSet(ranges, properties, isNegated);
  }

  #classPart(): ClassPart {
    const escape = this.#source.slice(this.#at, this.#at + 2);
    if (escape !== "\\b" && escape !== "\\-") return this.#character();
    this.#at += 2;
    return { point: escape === "\\b" ? 0x08 : HYPHEN };
  }

  /** A character as it is, or an escape. */
  #character(): ClassPart {
    if (this.#next !== "\\") {
      const point = this.#source.codePointAt(this.#at);
      if (point === undefined) throw notPattern();
      this.#at += point > 0xffff ? 2 : 1;
      return { point };
    }
    const [, letter] = this.#take(SHORTHAND) ?? [];
    if (letter !== undefined) {
      const ranges = SHORTHANDS[letter.toLowerCase()] ?? [];
      return { ranges: letter === letter.toLowerCase() ? ranges : complementOf(ranges), properties: [] };
    }
    const [, kind, name = ""] = this.#take(PROPERTY) ?? [];
    if (kind !== undefined) {
      const property = propertyNamed(name, kind === "P");
      if (!property) throw notPattern();
      return { ranges: [], properties: [property] };
    }
    const [, own] = this.#take(OWN) ?? [];
    if (own !== undefined) return { point: own.codePointAt(0)! };
    const [, high, low, code, unit, byte, control, named] = this.#take(CHARACTER) ?? [];
    if (high !== undefined) return { point: String.fromCharCode(hex(high), hex(low)).codePointAt(0)! };
    if (control !== undefined) return { point: control.charCodeAt(0) % 32 };
    if (named !== undefined) return { point: NAMED_CHARACTERS[named]!.charCodeAt(0) };
    const point = hex(code ?? unit ?? byte);
    if (!(point <= 0x10ffff)) throw notPattern();
    return { point };
  }

  #quantified(part: Pattern): Pattern {
    if (!QUANTIFYING.has(this.#next ?? "")) return part;
    const match = this.#take(QUANTIFIER);
    if (match === undefined) return part;
    const [text, counted, comma, most] = match;
    const least = counted ?? (text.startsWith("+") ? 1 : 0);
    const bound = counted === undefined ? (text.startsWith("?") ? 1 : "") : comma === undefined ? counted : most;
    const [min, max] = [Number(least), bound === "" ? Infinity : Number(bound)];
    if (min > max) throw notPattern();
    return { type: "repeat", part, min, max };
  }

  #take(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const match = expression.exec(this.#source) ?? undefined;
    this.#at += match?.[0].length ?? 0;
    return match;
  }
}

const HYPHEN = 0x2d;
const QUANTIFYING = new Set("*+?{");
const ASSERTIONS: Readonly<Record<string, "start" | "end" | "boundary" | "noBoundary">> = {
  "^": "start",
  $: "end",
  "\\b": "boundary",
  "\\B": "noBoundary",
};

/** NaN for a text that is missing. */
function hex(digits: string | undefined): number {
  return Number.parseInt(digits ?? "", 16);
}

function notPattern(): PatternRefused {
  return new PatternRefused("is not an ECMAScript regular expression");
}
