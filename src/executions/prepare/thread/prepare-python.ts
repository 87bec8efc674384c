import { withLineBreaks } from "./line-breaks.ts";
import type { Read } from "./parsed-program.ts";
import { PROGRAM_EMPTY, severalPrograms } from "../refuse-text.ts";
import { readOpening, stripFence } from "./strip-fence.ts";

/** The start of a Python string or comment. */
const STRING_OR_COMMENT = /"""|'''|["'#]/g;
const LINE_END = /[\n\r\u2028\u2029]/g;

/** Line terminators in JavaScript that do not end a line in Python. They are replaced in the text that fault positions refer to. */
const OTHER_LINE_BREAKS = /[\u2028\u2029]/g;

/** Removes the Markdown around a Python program; lines stay. The guest does the rest, with Python's own parser. */
export function preparePython(written: string): Read {
  const source = withLineBreaks(written, "python") ?? written;
  const stripped = hasFence(source) ? stripFence(source, "python") : undefined;
  if (stripped?.type === "several") return { ok: false, fault: severalPrograms(stripped.count) };
  const program = (stripped?.type === "code" ? stripped.code : source).replace(/^\ufeff/, "");
  if (program.trim() === "") return { ok: false, fault: PROGRAM_EMPTY };
  const lines = source.replaceAll(OTHER_LINE_BREAKS, " ");
  return { ok: true, text: { source: lines, program, insertions: [], rewritten: undefined } };
}

/** Whether the text has a fence outside of strings. Valid Python has none there; a string may contain Markdown. */
function hasFence(source: string): boolean {
  return withoutStrings(source)
    .split("\n")
    .some((line) => readOpening(line) !== undefined);
}

/**
 * The text with each character of its strings and comments replaced by x. An apostrophe in a line of prose starts a
 * string too, but that string ends with its line: only triple-quoted strings span lines.
 */
function withoutStrings(source: string): string {
  const parts: string[] = [];
  let at = 0;
  STRING_OR_COMMENT.lastIndex = 0;
  for (let found = STRING_OR_COMMENT.exec(source); found; found = STRING_OR_COMMENT.exec(source)) {
    const [marks] = found;
    const end = marks === "#" ? endOfLine(source, found.index) : endOfString(source, found.index + marks.length, marks);
    parts.push(source.slice(at, found.index), source.slice(found.index, end).replaceAll(/[^\n]/g, "x"));
    at = end;
    STRING_OR_COMMENT.lastIndex = end;
  }
  return parts.join("") + source.slice(at);
}

function endOfLine(source: string, start: number): number {
  LINE_END.lastIndex = start;
  return LINE_END.exec(source)?.index ?? source.length;
}

/** The index after a string's closing quotes; for a single-quoted string at the latest the index after its line. */
function endOfString(source: string, start: number, marks: string): number {
  for (let at = start; at < source.length; at += 1) {
    if (source[at] === "\\") at += 1;
    else if (source.startsWith(marks, at)) return at + marks.length;
    else if (source[at] === "\n" && marks.length === 1) return at + 1;
  }
  return source.length;
}
