import { styleText } from "node:util";
import { LineHighlighter, type Token } from "../../../views/highlight.ts";
import { cellsOf, StreamCleaner } from "./streamed-text.ts";

/** Characters of a line that are kept. */
const LINE_LENGTH = 2000;
/** Lines that are kept: more than a terminal has. */
const KEPT_LINES = 200;

type Style = Parameters<typeof styleText>[0];

const STYLES: Readonly<Record<Exclude<Token["kind"], "">, Style>> = {
  comment: "gray",
  string: "green",
  number: "yellow",
  keyword: "magenta",
  tools: ["bold", "cyan"],
};

/** Colours of what the command line says itself, for a terminal that has colours. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false });
}

/** The latest lines of a program as it is written, coloured. Each character is looked at a bounded number of times. */
export class CodeLines {
  readonly #cleaner = new StreamCleaner();
  readonly #highlighter: LineHighlighter;
  readonly #kept: (readonly Token[])[] = [];
  #line = "";
  #whole = 0;

  constructor(language: string) {
    this.#highlighter = new LineHighlighter(language);
  }

  add(piece: string): void {
    const [first = "", ...more] = this.#cleaner.add(piece).split("\n");
    this.#grow(first);
    for (const part of more) {
      this.#kept.push(this.#highlighter.line(this.#line));
      if (this.#kept.length > KEPT_LINES) this.#kept.shift();
      this.#whole += 1;
      this.#line = "";
      this.#grow(part);
    }
  }

  /** A line that is longer is shown by its beginning. */
  #grow(part: string): void {
    const room = LINE_LENGTH - this.#line.length;
    if (room > 0) this.#line += part.length >= room ? `${part.slice(0, room - 1)}…` : part;
  }

  /** Number of lines so far. */
  get count(): number {
    return this.#whole + (this.#line === "" ? 0 : 1);
  }

  /** The last lines that fit into this many rows, each no wider than the terminal, and how many lines are before them. */
  tail(rows: number, columns: number): { readonly lines: readonly string[]; readonly before: number } {
    const all = this.#line === "" ? this.#kept : [...this.#kept, this.#highlighter.peek(this.#line)];
    const lines: string[] = [];
    let shown = 0;
    for (const tokens of all.toReversed()) {
      const folded = foldTokens(tokens, columns);
      if (lines.length + folded.length > rows && shown > 0) break;
      lines.unshift(...folded.slice(-rows));
      shown += 1;
    }
    return { lines, before: this.count - shown };
  }
}

/** The lines of a whole source, coloured and no wider than the terminal. */
export function colouredLines(source: string, language: string, columns: number): readonly string[] {
  const highlighter = new LineHighlighter(language);
  const cleaner = new StreamCleaner();
  const cleaned = cleaner.add(source.trimEnd()) + cleaner.end();
  return cleaned.split("\n").flatMap((line) => foldTokens(highlighter.line(line), columns));
}

function foldTokens(tokens: readonly Token[], columns: number): readonly string[] {
  const room = Math.max(10, columns);
  const lines: string[] = [];
  let line = "";
  let at = 0;
  for (const { kind, text } of tokens) {
    let part = "";
    const flush = () => {
      if (part !== "") line += kind === "" ? part : styled(STYLES[kind], part);
      part = "";
    };
    for (const character of text) {
      const cells = cellsOf(character);
      if (at + cells > room) {
        flush();
        lines.push(line);
        [line, at] = ["", 0];
      }
      part += character;
      at += cells;
    }
    flush();
  }
  return [...lines, line];
}
