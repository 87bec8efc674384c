import { movesCursor } from "./terminal-shape.ts";

export type LiveDisplay = ReturnType<typeof liveDisplay>;

const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";
/** Another screen, without a cursor, on which lines that are too long are cut. */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";

/**
 * The display of a command that watches: a frame that is redrawn on a terminal, and elsewhere lines as they come. The
 * last frame stays on the terminal when the display is disposed of.
 */
export function liveDisplay(
  stream: Pick<NodeJS.WriteStream, "isTTY" | "rows">,
  write: (text: string) => Promise<void>,
) {
  let last: readonly string[] | undefined;
  const send = (text: string) => void write(text);
  return {
    /** Rows that a frame may have; undefined if lines are printed. */
    get rows(): number | undefined {
      return movesCursor(stream) ? stream.rows : undefined;
    },
    /** Draws a frame in place of the one before. */
    draw(lines: readonly string[]): void {
      const fresh = lines.flatMap((line) => line.split("\n"));
      if (last === undefined) send(ENTER);
      last = fresh;
      const fit = fresh.slice(0, Math.max(1, stream.rows - 1));
      send(`${HOME}${fit.map((line) => `${line}${CLEAR_LINE}\r\n`).join("")}${CLEAR_BELOW}`);
    },
    /** Resolves once the lines are passed on: a slow reader does not fill the memory. */
    async print(lines: readonly string[]): Promise<void> {
      if (lines.length > 0) await write(`${lines.join("\n")}\n`);
    },
    [Symbol.dispose](): void {
      if (last === undefined) return;
      send(`${LEAVE}${last.join("\n")}\n`);
      last = undefined;
    },
  };
}
