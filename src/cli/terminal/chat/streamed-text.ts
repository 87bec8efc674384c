import { cleanText } from "../../../output/clean-text.ts";

/** What may be the first half of something that `cleanText` tells from its second half. */
const HALVES = /(?:\r|\ufe0f|[\ud800-\udbff])$/;

/**
 * Cleans foreign text that comes in pieces: together the results are what `cleanText` makes of the whole. Each character
 * that could begin a sequence of a terminal becomes an escape by itself, so a sequence gains nothing by being split.
 * Holds one character.
 */
export class StreamCleaner {
  #held = "";

  add(piece: string): string {
    const text = this.#held + piece;
    const cleaned = cleanText(text);
    this.#held = HALVES.test(text) ? text.slice(-1) : "";
    return this.#held === "" ? cleaned : cleaned.slice(0, -cleanText(this.#held).length);
  }

  /** What was held. */
  end(): string {
    const rest = cleanText(this.#held);
    this.#held = "";
    return rest;
  }
}

/** Cells that a character takes, for text that people read: terminals agree about the alphabets below U+1100. */
export function cellsOf(character: string): number {
  if (character === "\t") return 8;
  return (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2;
}

/**
 * Lays cleaned text out while it comes: indented, and broken between words before the terminal would break it. So no
 * line of it begins at the left edge, where the lines of the command line begin. Holds one word.
 */
export class TextLayout {
  readonly #columns: () => number;
  readonly #indent: string;
  #at = 0;
  #word = "";
  #wordCells = 0;

  constructor(columns: () => number, indent: string) {
    this.#columns = columns;
    this.#indent = indent;
  }

  /** Whether the cursor stands in a line. */
  get isInLine(): boolean {
    return this.#at > 0 || this.#word !== "";
  }

  add(text: string): string {
    let out = "";
    for (const character of text) {
      if (character === "\n") {
        out += `${this.#takeWord()}\n`;
        this.#at = 0;
      } else if (character === " " || character === "\t") {
        out += this.#takeWord();
        if (this.#at + cellsOf(character) < this.#room) out += this.#put(character, cellsOf(character));
      } else {
        // Scripts without spaces may be broken anywhere, and so may a word that is longer than a line.
        const cells = cellsOf(character);
        if (this.#wordCells + cells > this.#room || cells > 1) out += this.#takeWord();
        this.#word += character;
        this.#wordCells += cells;
        if (cells > 1) out += this.#takeWord();
      }
    }
    return out;
  }

  /** The rest, with a line break if a line is open. */
  end(): string {
    const rest = this.#takeWord();
    const line = this.#at > 0 ? "\n" : "";
    this.#at = 0;
    return rest + line;
  }

  get #room(): number {
    return Math.max(20, this.#columns() - this.#indent.length - 1);
  }

  #takeWord(): string {
    if (this.#word === "") return "";
    const isFull = this.#at > 0 && this.#at + this.#wordCells > this.#room;
    if (isFull) this.#at = 0;
    const out = (isFull ? "\n" : "") + this.#put(this.#word, this.#wordCells);
    [this.#word, this.#wordCells] = ["", 0];
    return out;
  }

  #put(text: string, cells: number): string {
    const out = this.#at === 0 ? this.#indent + text : text;
    this.#at += cells;
    return out;
  }
}

/** A whole text, cleaned and laid out, without spaces and line breaks at its end. */
export function laidOut(text: string, columns: number, indent = ""): string {
  const layout = new TextLayout(() => columns, indent);
  const lines = (layout.add(cleanText(text)) + layout.end()).trimEnd().split("\n");
  return lines.map((line) => line.trimEnd()).join("\n");
}
