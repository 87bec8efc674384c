import type { RedactFinding } from "./redact-option.ts";
import { isSecretName } from "./secret-names.ts";

/** Characters of a name that are read. */
const NAME_LENGTH = 64;
/** Characters of the shortest names, like `pwd`. */
const SHORTEST_NAME = 3;
const SPACES = 4;

/** The value behind a separator. A scheme may stand before it, and an unclosed quotation mark is a part of it. */
const VALUE =
  /[ \t]{0,4}((?:bearer|basic|token)[ \t]{1,4})?("[^"\n]{1,16384}"|'[^'\n]{1,16384}'|\[redacted [0-9]{1,9} characters?: [\w .-]{1,40}\]|["']?[^\s"',;&]{1,16384})/iy;

/** What was found: a value, its name, and how they are written. */
interface NamedValue extends Pick<RedactFinding, "start" | "end"> {
  /** Whether it is written as in code or in an address: `"name": …`, `name=…`, or behind a scheme. */
  readonly isTight: boolean;
}

/**
 * Values behind `=` or `:` and a name that says that they are secret. The name is read from the separator back to its
 * beginning, and no separator is in a name, so each character is read once. Only the end of a long name is read.
 */
export function* findNamed(text: string): Generator<NamedValue> {
  for (let at = 0; at < text.length; at += 1) {
    if (!isSeparator(text.charCodeAt(at))) continue;
    const name = nameBefore(text, at);
    if (name.end - name.start < SHORTEST_NAME || !isSecretName(text.slice(name.start, name.end))) continue;
    VALUE.lastIndex = at + 1;
    const [whole = "", scheme, value = ""] = VALUE.exec(text) ?? [];
    if (value === "") continue;
    const end = at + 1 + whole.length;
    const isTight = name.isQuoted || (text[at] === "=" && name.end === at) || scheme !== undefined;
    yield { start: end - value.length, end, isTight };
    at = end - 1;
  }
}

function nameBefore(text: string, separator: number) {
  let end = separator;
  while (end > 0 && separator - end < SPACES && isSpace(text.charCodeAt(end - 1))) end -= 1;
  const isQuoted = end > 0 && isQuote(text.charCodeAt(end - 1));
  if (isQuoted) end -= 1;
  let start = end;
  while (start > 0 && end - start < NAME_LENGTH && isOfName(text.charCodeAt(start - 1))) start -= 1;
  return { start, end, isQuoted };
}

const isSeparator = (code: number): boolean => code === 0x3a || code === 0x3d;
const isSpace = (code: number): boolean => code === 0x20 || code === 0x09;
const isQuote = (code: number): boolean => code === 0x22 || code === 0x27;

/** Letters, digits, `_`, `.` and `-`. */
function isOfName(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x2d && code <= 0x39 && code !== 0x2f) ||
    code === 0x5f
  );
}
