import { cleanText, orMeant, PortcullisError, written } from "../../base/index.ts";

/** A field of a file: text, or a list of texts. */
export interface Field {
  readonly value: string | readonly string[];
  /** From 1. */
  readonly line: number;
}

/** A Markdown file with fields before its text. */
export interface MarkdownFile {
  readonly path: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** What stands below the fields. */
  readonly text: string;
  /** Line at which `text` begins, from 1. */
  readonly textLine: number;
}

const FENCE = "---";
/** What ends a line in YAML. */
const LINE_BREAK = /\r\n|\r|\n/;
/** What a plain value cannot begin with: YAML gives these characters a meaning that is not read here. */
const RESERVED = new Set("{&*!%@`#?,]}");

/** An `option_invalid` error with a place in a file. */
export function fileError(path: string, line: number, what: string): PortcullisError {
  return new PortcullisError("option_invalid", `${shownPath(path)}:${line}: ${what}`);
}

/** A path in one line. Names of files may have line breaks, and characters that control a terminal. */
export function shownPath(path: string): string {
  return cleanText(path).replaceAll(/[\n\t]/g, written);
}

/**
 * Reads the fields before the text of a Markdown file: the part of YAML that such files have, which is texts and lists of
 * texts. Everything else is refused with its line, also a field that is not in `known`, or stands twice. A file that does
 * not begin with `---` has no fields.
 */
export function readMarkdown(path: string, source: string, known: readonly string[]): MarkdownFile {
  const lines = source.replace(/^\ufeff/, "").split(LINE_BREAK);
  const begin = lines.findIndex((line) => line.trim() !== "");
  // Taken for text, such fields would leave the text with all tools.
  if (begin > 0 && lines[begin]?.trimEnd() === FENCE)
    throw fileError(path, begin + 1, `fields begin in the first line: take out what is above ${FENCE}.`);
  if (lines[0]?.trimEnd() !== FENCE) return { path, fields: new Map(), text: lines.join("\n"), textLine: 1 };
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === FENCE);
  if (end < 0) throw fileError(path, 1, `the fields have no end: write a line ${FENCE} behind them.`);
  const fields = new FieldReader(path, lines.slice(0, end), known).read();
  return { path, fields, text: lines.slice(end + 1).join("\n"), textLine: end + 2 };
}

class FieldReader {
  readonly #path: string;
  readonly #lines: readonly string[];
  readonly #known: readonly string[];
  /** Place of the next line. The first line is the fence. */
  #at = 1;

  constructor(path: string, lines: readonly string[], known: readonly string[]) {
    this.#path = path;
    this.#lines = lines;
    this.#known = known;
  }

  read(): ReadonlyMap<string, Field> {
    const fields = new Map<string, Field>();
    for (let line = this.#take(); line !== undefined; line = this.#take()) {
      if (isBlank(line)) continue;
      const number = this.#at;
      const colon = line.indexOf(":");
      const name = line.slice(0, colon);
      if (colon <= 0 || !/^[A-Za-z][\w-]{0,63}$/.test(name) || !/^(?:\s|$)/.test(line.slice(colon + 1)))
        throw this.#error(
          number,
          "expected a field, like name: reviewer. A text of several lines stands below `name: |`.",
        );
      if (!this.#known.includes(name)) throw this.#unknown(name, number);
      const before = fields.get(name);
      if (before) throw this.#error(number, `${name} stands twice, first in line ${before.line}.`);
      fields.set(name, { value: this.#value(name, line.slice(colon + 1).trim(), number), line: number });
    }
    return fields;
  }

  #value(name: string, text: string, number: number): Field["value"] {
    if (text === "") return this.#list(name, number);
    if (/^[|>][+-]?$/.test(text)) return this.#block(name, text.startsWith("|") ? "\n" : " ", number);
    if (text.startsWith("[")) {
      if (!text.endsWith("]")) throw this.#error(number, `${name}: the list has no ] at the end of its line.`);
      const inner = text.slice(1, -1).trim();
      return inner === "" ? [] : inner.split(",").map((item) => this.#text(name, item.trim(), number));
    }
    return this.#text(name, text, number);
  }

  /** Items below a field without a value. */
  #list(name: string, number: number): readonly string[] {
    const items: string[] = [];
    for (let line = this.#peek(); line !== undefined; line = this.#peek()) {
      if (!isBlank(line) && !/^\s*-(?:\s|$)/.test(line)) break;
      this.#at += 1;
      if (!isBlank(line)) items.push(this.#text(name, line.trim().slice(1).trim(), this.#at));
    }
    if (items.length === 0) throw this.#error(number, `${name} has no value: give one, or leave the field out.`);
    return items;
  }

  /** Indented lines below a field, joined by `between`. */
  #block(name: string, between: string, number: number): string {
    const lines: string[] = [];
    for (let line = this.#peek(); line !== undefined && (line.trim() === "" || /^\s/.test(line)); line = this.#peek()) {
      this.#at += 1;
      lines.push(line.trim());
    }
    const text = lines.join(between).trim();
    if (text === "") throw this.#error(number, `${name} has no text below it: indent its lines.`);
    return text;
  }

  #text(name: string, text: string, number: number): string {
    const quote = text[0];
    if (quote === '"') return this.#quoted(name, text, number);
    if (quote === "'") {
      if (!/^'(?:[^']|'')*'$/.test(text))
        throw this.#error(number, `${name}: the quotes do not close at the end of the line.`);
      return text.slice(1, -1).replaceAll("''", "'");
    }
    if (quote === undefined) throw this.#error(number, `${name} has an empty item: give it a value, or leave it out.`);
    if (RESERVED.has(quote) || text.includes(" #"))
      throw this.#error(
        number,
        `${name}: write the value in quotes, because it has a character with a meaning in YAML.`,
      );
    return text;
  }

  #quoted(name: string, text: string, number: number): string {
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === "string") return value;
    } catch {
      // Said below.
    }
    throw this.#error(
      number,
      `${name}: the quotes do not close at the end of the line, or hold an escape that JSON does not have.`,
    );
  }

  #unknown(name: string, number: number): PortcullisError {
    const which = orMeant(name, this.#known);
    return this.#error(
      number,
      `there is no field ${JSON.stringify(name)}${which} The fields are ${this.#known.join(", ")}.`,
    );
  }

  #error(line: number, what: string): PortcullisError {
    return fileError(this.#path, line, what);
  }

  #peek(): string | undefined {
    return this.#lines[this.#at];
  }

  #take(): string | undefined {
    const line = this.#peek();
    this.#at += 1;
    return line;
  }
}

function isBlank(line: string): boolean {
  const text = line.trim();
  return text === "" || text.startsWith("#");
}
