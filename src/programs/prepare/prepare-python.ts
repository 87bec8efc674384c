import type { Prepared } from "./prepared.ts";
import { PROGRAM_EMPTY, severalPrograms } from "./refuse-text.ts";
import type { Position } from "../source-map.ts";
import { readOpening, stripFence } from "./strip-fence.ts";

/** What begins a string or a comment of Python. */
const STRING_OR_COMMENT = /"""|'''|["'#]/g;
const LINE_END = /[\n\r\u2028\u2029]/g;

/** What ends a line for JavaScript, and not for Python: it must not count in the text that faults are shown in. */
const OTHER_LINE_BREAKS = /[\u2028\u2029]/g;

/**
 * Drops the Markdown round a Python program. All else that turns a text into a program is the guest's work, which
 * has Python's own parser: there is none here. Every line stays where it was.
 */
export function preparePython(source: string): Prepared {
  const stripped = hasFence(source) ? stripFence(source, "python") : undefined;
  if (stripped?.type === "several") return { ok: false, fault: severalPrograms(stripped.count) };
  const program = stripped?.type === "code" ? stripped.code : source;
  if (program.trim() === "") return { ok: false, fault: PROGRAM_EMPTY };
  const lines = source.replaceAll(OTHER_LINE_BREAKS, " ");
  return { ok: true, program, map: { source: lines, toSource: (position: Position) => position } };
}

/** Whether a fence stands outside of strings. No Python has one there; inside of them a program may be writing Markdown. */
function hasFence(source: string): boolean {
  return withoutStrings(source)
    .split("\n")
    .some((line) => readOpening(line) !== undefined);
}

/**
 * A text with an x for each character of its strings and comments. Lines of prose are read as such too: an apostrophe
 * begins a string that ends with its line. Only what stands between three quotation marks has more than one line.
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

/** Behind the marks that end a string, or the line that one between single marks ends with. */
function endOfString(source: string, start: number, marks: string): number {
  for (let at = start; at < source.length; at += 1) {
    if (source[at] === "\\") at += 1;
    else if (source.startsWith(marks, at)) return at + marks.length;
    else if (source[at] === "\n" && marks.length === 1) return at + 1;
  }
  return source.length;
}
