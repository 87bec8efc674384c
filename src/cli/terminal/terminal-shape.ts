/** How output may look. */
export interface TerminalShape {
  /** Cells of a line; undefined if the output is no terminal, and lines may have any length. */
  readonly columns: number | undefined;
  /** Whether only plain characters are shown as they are. */
  readonly isPlain: boolean;
}

export function shapeOf(
  { isTTY, columns }: Pick<NodeJS.WriteStream, "isTTY" | "columns">,
  env: NodeJS.ProcessEnv = process.env,
): TerminalShape {
  return { columns: isTTY && columns > 0 ? columns : undefined, isPlain: !showsUnicode(env) };
}

/** Whether output is a terminal whose cursor can be moved, so that what it shows can be drawn again. */
export function movesCursor(
  { isTTY }: Pick<NodeJS.WriteStream, "isTTY">,
  env: NodeJS.ProcessEnv = process.env,
): boolean {
  return isTTY && env["TERM"] !== "dumb";
}

/** Whether the user's locale has UTF-8. On Windows, whether the terminal is one of those that have it. */
function showsUnicode(env: NodeJS.ProcessEnv, platform = process.platform): boolean {
  if (platform === "win32") return env["WT_SESSION"] !== undefined || env["TERM_PROGRAM"] !== undefined;
  if (env["TERM"] === "linux" || env["TERM"] === "dumb") return false;
  const locale = [env["LC_ALL"], env["LC_CTYPE"], env["LANG"]].find(Boolean) ?? "";
  // Without a locale, macOS and containers have UTF-8 as often as not: plain characters are always right.
  return /utf-?8/i.test(locale);
}

/** What stands for each character that this package draws, in as many cells. */
const PLAIN: Readonly<Record<string, string>> = {
  "─": "-",
  "╌": "~",
  "┬": "+",
  "█": "#",
  "▓": "=",
  "░": ".",
  "▏": "|",
  "▁": "_",
  "▂": "-",
  "▃": "-",
  "▄": "=",
  "▅": "=",
  "▆": "+",
  "▇": "*",
  "≈": "~",
  "…": "~",
  "×": "x",
  "→": ">",
};
const DRAWN = new RegExp(`[${Object.keys(PLAIN).join("")}]`, "g");

/** A text with plain characters in place of those that this package draws. */
export function plainText(text: string): string {
  return text.replaceAll(DRAWN, (character) => PLAIN[character] ?? character);
}
