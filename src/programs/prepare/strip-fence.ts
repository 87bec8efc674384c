import type { Language } from "../../../bridge/frames.ts";

/** What opens a block: the fence, the language, and whatever else is said of it. */
export const FENCE_LINE = /^[ \t]*(`{3,}|~{3,})[ \t]*\{?[ \t.]*([\w+#-]*)[^`]*$/;

/**
 * Strings and comments of Python, and the lines of prose that are read as such: an apostrophe begins a string that
 * ends with its line. Only what stands between three quotation marks has more than one line.
 */
export const PYTHON_STRING_OR_COMMENT =
  /("""|''')(?:\\[^]|(?!\1)[^])*(?:\1|$)|"(?:\\[^]|[^"\\\n])*(?:"|\n|$)|'(?:\\[^]|[^'\\\n])*(?:'|\n|$)|#.*/g;

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
  const written = programs.filter((block) => inside(lines, block).some((line) => line.trim() !== ""));
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
  return FENCE_LINE.test(source.trimStart().split("\n", 1)[0] ?? "");
}

function blocksOf(lines: readonly string[], language: Language): Block[] {
  const blocks: Block[] = [];
  // Once a block has turned out to be no Python, so do the others: each is looked through no more than once.
  let readsStrings = language === "python";
  for (let open = 0; open < lines.length; open += 1) {
    const [, fence, mark = ""] = FENCE_LINE.exec(lines[open] ?? "") ?? [];
    if (fence === undefined) continue;
    const ofProgram = readsStrings && MARKS.python.has(mark.toLowerCase());
    const outsideStrings = ofProgram ? closeOutsideStrings(lines, open + 1, fence) : undefined;
    if (ofProgram && outsideStrings === undefined) readsStrings = false;
    const close = outsideStrings ?? closeAnywhere(lines, open + 1, fence) ?? lines.length;
    blocks.push({ mark, open, close });
    open = close;
  }
  return blocks;
}

function closeAnywhere(lines: readonly string[], from: number, fence: string): number | undefined {
  const index = lines.findIndex((line, at) => at >= from && closes(line.trim(), fence));
  return index < 0 ? undefined : index;
}

/** Where a block of Python is closed: its program may be writing Markdown, in strings of many lines. */
function closeOutsideStrings(lines: readonly string[], from: number, fence: string): number | undefined {
  let inString: string | undefined;
  for (let index = from; index < lines.length; index += 1) {
    const line = lines[index] ?? "";
    if (inString === undefined && closes(line.trim(), fence)) return index;
    inString = stringBehind(line, inString);
  }
  return undefined;
}

/** The quotation marks of the string that goes on in the next line; undefined where none does. */
function stringBehind(line: string, before: string | undefined): string | undefined {
  let inString = before;
  for (const [token] of line.matchAll(/\\[^]|"""|'''|["'#]|\\$/g)) {
  }
  return inString;
}

function inside(lines: readonly string[], { open, close }: Block): string[] {
  return lines.map((line, index) => (index > open && index < close ? line : ""));
}

/** A block is closed by a line of at least as many of the same characters, and nothing else. */
function closes(line: string, fence: string): boolean {
  return line.startsWith(fence) && line.replaceAll(fence[0] ?? "", "") === "";
}
