import { stripVTControlCharacters } from "node:util";
import { cellsOf } from "./streamed-text.ts";

const CLEAR_BELOW = "\u001b[J";

/** The part of a terminal stream that the region needs. */
export interface RegionStream {
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
}

/** The last rows of a terminal, which are drawn again as they change, below what stays. */
export class LiveRegion {
  readonly #stream: RegionStream;
  /** Cells of each line that is drawn. */
  #drawn: readonly number[] = [];

  constructor(stream: RegionStream) {
    this.#stream = stream;
  }

  get columns(): number {
    return this.#stream.columns > 0 ? this.#stream.columns : 80;
  }

  /** Rows that can be drawn again: what has left the screen cannot. */
  get rows(): number {
    return Math.max(3, (this.#stream.rows > 0 ? this.#stream.rows : 24) - 1);
  }

  /** Draws lines, none wider than the terminal, in place of those before. The cursor has to stand at the left edge if there are none. */
  draw(lines: readonly string[]): void {
    const fit = lines.slice(-this.rows);
    this.#stream.write(this.#erasing() + fit.join("\n"));
    this.#drawn = fit.map(cellsOfLine);
  }

  /** Takes the lines away, and leaves the cursor where they began. */
  clear(): void {
    const erasing = this.#erasing();
    if (erasing !== "") this.#stream.write(erasing);
    this.#drawn = [];
  }

  #erasing(): string {
    if (this.#drawn.length === 0) return "";
    // A terminal that has become narrower has broken the lines.
    const rows = this.#drawn.reduce((sum, cells) => sum + Math.max(1, Math.ceil(cells / this.columns)), 0);
    const up = rows > 1 ? `\u001b[${rows - 1}A` : "";
    return `\r${up}${CLEAR_BELOW}`;
  }
}

function cellsOfLine(line: string): number {
  let cells = 0;
  for (const character of stripVTControlCharacters(line)) cells += cellsOf(character);
  return cells;
}
