import type { Language } from "../../../../bridge/frames.ts";

interface Opening {
  readonly fence: string;
  readonly mark: string;
}

/** Parses a line that opens a block; undefined for any other line. It scans by hand, because one pattern for the whole line would backtrack over spaces. */
function readOpening(line: string): Opening | undefined {
  const start = endOf(" \t", line, 0);
  const character = line[start] ?? "";
  if (character !== "`" && character !== "~") return undefined;
  const end = endOf(character, line, start);
  // The line of an opening fence has no backticks after the fence. With backticks it is inline code.
  if (end - start < 3 || line.includes("`", end)) return undefined;
  let at = endOf(" \t", line, end);
  if (line[at] === "{") at += 1;
  MARK.lastIndex = endOf(" \t.", line, at);
  return { fence: line.slice(start, end), mark: MARK.exec(line)?.[0] ?? "" };
}

const MARK = /[\w+#-]*/y;

/** The end of the run of these characters that begins at `start`. */
function endOf(characters: string, line: string, start: number): number {
  let end = start;
  while (end < line.length && characters.includes(line.charAt(end))) end += 1;
  return end;
}

/** Language marks of blocks that may be a program; a block may have no mark. */
const MARKS: Readonly<Record<Language, ReadonlySet<string>>> = {
  javascript: new Set(["", "js", "javascript", "mjs", "jsx", "node", "ts", "typescript", "mts", "tsx"]),
  python: new Set(["", "py", "py3", "python", "python3"]),
};

interface Block {
  readonly mark: string;
  /** Indices of the lines of its two fences. */
  readonly open: number;
  readonly close: number;
}

type FenceResult =
  | { readonly type: "code"; readonly code: string }
  | { readonly type: "none" }
  /** Several blocks may be the program. */
  | { readonly type: "several"; readonly count: number };

/**
 * Removes the Markdown around a program: the lines of its fenced block stay where they were, all other lines become
 * empty. Blocks in other languages are ignored if there is a block in `language`. `outline` is the text without what no
 * fence stands in.
 */
export function stripFence(source: string, language: Language, outline = source): FenceResult {
  const lines = source.split("\n");
  const blocks = blocksOf(outline.split("\n"));
  const programs = blocks.filter(({ mark }) => MARKS[language].has(mark.toLowerCase()));
  const written = programs.filter(({ open, close }) => lines.slice(open + 1, close).some((line) => line.trim() !== ""));
  if (written.length > 1) return { type: "several", count: written.length };
  const block = written[0] ?? programs[0] ?? blocks[0];
  if (!block) return { type: "none" };
  const code = lines.map((line, index) => (index > block.open && index < block.close ? line : ""));
  if (code.some((line) => line.trim() !== "")) return { type: "code", code: code.join("\n") };
  // The block is empty: the program may be outside of it.
  return {
    type: "code",
    code: lines.map((line, index) => (index === block.open || index === block.close ? "" : line)).join("\n"),
  };
}

/** Whether a text begins with a fence, which JavaScript would parse as template literals. */
export function beginsWithFence(source: string): boolean {
  return readOpening(source.trimStart().split("\n", 1)[0] ?? "") !== undefined;
}

function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  for (let open = 0; open < lines.length; open += 1) {
    const opening = readOpening(lines[open] ?? "");
    if (!opening) continue;
    const { fence, mark } = opening;
    let close = open + 1;
    while (close < lines.length && !closes((lines[close] ?? "").trim(), fence)) close += 1;
    blocks.push({ mark, open, close });
    open = close;
  }
  return blocks;
}

/** Whether a line closes a block: it has at least as many of the fence's characters and nothing else. */
function closes(line: string, fence: string): boolean {
  return line.startsWith(fence) && line.replaceAll(fence[0] ?? "", "") === "";
}
