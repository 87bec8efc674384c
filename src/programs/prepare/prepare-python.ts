import type { Prepared } from "./prepared.ts";
import { PROGRAM_EMPTY, severalPrograms } from "./refuse-text.ts";
import type { Position } from "../source-map.ts";
import { FENCE_LINE, stripFence } from "./strip-fence.ts";

/**
 * Strings and comments of Python, and the lines of prose that are read as such: an apostrophe begins a string that
 * ends with its line. Only what stands between three quotation marks has more than one line.
 */
const STRING_OR_COMMENT =
  /("""|''')(?:\\[^]|(?!\1)[^])*(?:\1|$)|"(?:\\[^]|[^"\\\n])*(?:"|\n|$)|'(?:\\[^]|[^'\\\n])*(?:'|\n|$)|#.*/g;

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
  const code = source.replace(STRING_OR_COMMENT, (text) => text.replaceAll(/[^\n]/g, "x"));
  return code.split("\n").some((line) => FENCE_LINE.test(line));
}
