const INDENT = "  ";
/** Deeper levels are not indented further: the text would grow with the square of its depth. */
const DEEPEST = 20;
const OPEN = "{[";
const CLOSE = "}]";

/** JSON text over several lines. Nothing but white space between values changes, so numbers and repeated names stay as they are. */
export function prettyJson(text: string): string {
  const parts: string[] = [];
  let depth = 0;
  const line = () => parts.push("\n", INDENT.repeat(Math.min(depth, DEEPEST)));
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? "";
    if (character === '"') {
      const end = endOfString(text, at);
      parts.push(text.slice(at, end));
      at = end - 1;
    } else if (OPEN.includes(character)) {
      const close = CLOSE[OPEN.indexOf(character)] ?? "";
      const isEmpty = text[at + 1] === close;
      parts.push(isEmpty ? character + close : character);
      if (isEmpty) at += 1;
      else {
        depth += 1;
        line();
      }
    } else if (CLOSE.includes(character)) {
      depth = Math.max(0, depth - 1);
      line();
      parts.push(character);
    } else if (character === ",") {
      parts.push(character);
      line();
    } else parts.push(character === ":" ? ": " : isSpace(character) ? "" : character);
  }
  return parts.join("");
}

function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

function isSpace(character: string): boolean {
  return character === " " || character === "\n" || character === "\t" || character === "\r";
}
