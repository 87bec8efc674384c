import { COLON, COMMA, END, isClosing, isOpening, JsonScanner } from "../src/base/values/json/json-scanner.ts";

const INDENT = "  ";
/** Deeper levels are not indented further: the text would grow with the square of its depth. */
const DEEPEST = 20;

/**
 * JSON text over several lines. Nothing but white space between values changes, so numbers and repeated names stay as they
 * are. What is deeper than `levels` stays in its line.
 */
export function prettyJson(text: string, levels = Infinity): string {
  const scanner = new JsonScanner(text);
  const parts: string[] = [];
  for (let last = END; ;) {
    const { level } = scanner;
    const mark = scanner.next();
    const between = scanner.between.trim();
    const isEmpty = isOpening(last) && isClosing(mark) && between === "";
    if ((isOpening(last) || last === COMMA) && !isEmpty)
      parts.push(level <= levels ? lineAt(level) : last === COMMA ? " " : "");
    parts.push(between);
    if (mark === END) return parts.join("");
    if (isClosing(mark) && !isEmpty && scanner.level < levels) parts.push(lineAt(scanner.level));
    parts.push(scanner.written, mark === COLON ? " " : "");
    last = mark;
  }
}

function lineAt(level: number): string {
  return `\n${INDENT.repeat(Math.max(0, Math.min(level, DEEPEST)))}`;
}
