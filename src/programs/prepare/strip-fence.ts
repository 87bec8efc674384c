import type { Language } from "../../../bridge/frames.ts";

/** What opens a block: the fence, the language, and whatever else is said of it. */
interface Opening {
  readonly fence: string;
  readonly mark: string;
}

/** What a line opens, if it opens a block. Read from left to right: a pattern for all of it would go back and forth over spaces. */
export function readOpening(line: string): Opening | undefined {
  const start = endOf(" \t", line, 0);
  const character = line[start] ?? "";
  if (character !== "`" && character !== "~") return undefined;
  const end = endOf(character, line, start);
  // Behind a fence of backticks, or one of tildes, no more backticks stand on its line.
  if (end - start < 3 || line.includes("`", end)) return undefined;
  let at = endOf(" \t", line, end);
  if (line[at] === "{") at += 1;
  MARK.lastIndex = endOf(" \t.", line, at);
  return { fence: line.slice(start, end), mark: MARK.exec(line)?.[0] ?? "" };
}

/** The name of a language, as it is written behind a fence. */
const MARK = /[\w+#-]*/y;

/** Where a run of these characters that begins at a place of the line ends. */
function endOf(characters: string, line: string, start: number): number {
  let end = start;
  while (end < line.length && characters.includes(line.charAt(end))) end += 1;
  return end;
}

/** What blocks with programs of a language are marked with; a block may be marked with nothing. */
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

export type Stripped =
  | { readonly type: "code"; readonly code: string }
  /** There is no block. */
  | { readonly type: "none" }
  /** There are several that may be the program. */
  | { readonly type: "several"; readonly count: number };

/**
 * Code without the Markdown round it: only what is in its fenced block stays, on the lines where it was, and all other
 * lines become empty. Blocks in other languages are passed over where there is one for a program.
 */
export function stripFence(source: string, language: Language): Stripped {
  const lines = source.split("\n");
  const blocks = blocksOf(lines, language);
  const programs = blocks.filter(({ mark }) => MARKS[language].has(mark.toLowerCase()));
  const written = programs.filter(({ open, close }) => lines.slice(open + 1, close).some((line) => line.trim() !== ""));
  if (written.length > 1) return { type: "several", count: written.length };
  const block = written[0] ?? programs[0] ?? blocks[0];
  if (!block) return { type: "none" };
  const code = inside(lines, block);
  if (code.some((line) => line.trim() !== "")) return { type: "code", code: code.join("\n") };
  // Nothing is in it: then the program may stand beside it.
  return {
    type: "code",
    code: lines.map((line, index) => (index === block.open || index === block.close ? "" : line)).join("\n"),
  };
}

/** Whether the first thing in a text is a fence: JavaScript would read it as template literals. */
export function beginsWithFence(source: string): boolean {
  return readOpening(source.trimStart().split("\n", 1)[0] ?? "") !== undefined;
}

function blocksOf(lines: readonly string[], language: Language): Block[] {
  const blocks: Block[] = [];
  // Not any more once a string has turned out to have no end: to look for that in each block would take long.
  let readsStrings = language === "python";
  for (let open = 0; open < lines.length; open += 1) {
    const opening = readOpening(lines[open] ?? "");
    if (!opening) continue;
    const { fence, mark } = opening;
    const from = open + 1;
    let close: number | undefined;
    if (readsStrings && MARKS.python.has(mark.toLowerCase())) {
      close = closeOf(lines, from, { fence, readsStrings });
      readsStrings = close !== undefined;
    }
    close ??= closeOf(lines, from, { fence, readsStrings: false }) ?? lines.length;
    blocks.push({ mark, open, close });
    open = close;
  }
  return blocks;
}

/** Where a block is closed. A program in Python may be writing Markdown, in a string of many lines: none of that closes it. */
function closeOf(
  lines: readonly string[],
  from: number,
  { fence, readsStrings }: { readonly fence: string; readonly readsStrings: boolean },
): number | undefined {
  let string: string | undefined;
  for (let index = from; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    if (string === undefined && closes(line.trim(), fence)) return index;
    if (readsStrings) string = stringBehind(line, string);
  }
  return undefined;
}

/** The quotation marks of the string of Python that goes on behind a line, if one does; `before` it there was this one. */
function stringBehind(line: string, before: string | undefined): string | undefined {
  let string = before;
  let at = 0;
  while (at < line.length) {
    if (string === undefined) {
      if (line[at] === "#") return undefined;
      string = ['"""', "'''", '"', "'"].find((marks) => line.startsWith(marks, at));
      at += string?.length ?? 1;
    } else if (line[at] === "\\") {
      at += 2;
    } else if (line.startsWith(string, at)) {
      at += string.length;
      string = undefined;
    } else {
      at += 1;
    }
  }
  // One between single marks goes on only behind a backslash.
  return string?.length === 1 && at === line.length ? undefined : string;
}

function inside(lines: readonly string[], { open, close }: Block): string[] {
  return lines.map((line, index) => (index > open && index < close ? line : ""));
}

/** A block is closed by a line of at least as many of the same characters, and nothing else. */
function closes(line: string, fence: string): boolean {
  return line.startsWith(fence) && line.replaceAll(fence[0] ?? "", "") === "";
}
