import type { TokenCounter } from "../accounting/count-exchange.ts";

/** Length of the longest token in the encodings used (a row of spaces), in UTF-16 code units. */
export const TOKEN_LENGTH = 128;

const MARK = "… [cut]";

/** The first `tokens` tokens of a text and a mark, or the whole text if it has no more. */
export function cutText(text: string, tokens: number, count: TokenCounter): string {
  if (text.length <= tokens || count(text.slice(0, tokens * TOKEN_LENGTH)) <= tokens) return text;
  let fits = tokens;
  let tooLong = Math.min(text.length, tokens * TOKEN_LENGTH);
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >>> 1;
    if (count(text.slice(0, middle)) <= tokens) fits = middle;
    else tooLong = middle;
  }
  return text.slice(0, fits) + MARK;
}

/** The part of a JSON value that can be read from the first `length` characters of its text. */
export function cutValue(value: unknown, length: number): unknown {
  return cut(value, { left: length }) ?? null;
}

/** Undefined if no part of the value fits. */
function cut(value: unknown, room: { left: number }): unknown {
  if (typeof value === "object" && value !== null) return cutContainer(value, room);
  const text = JSON.stringify(value);
  const left = room.left;
  room.left -= text.length;
  if (text.length <= left) return value;
  if (typeof value !== "string" || left < 1) return undefined;
  // Drop an escape that was cut in the middle. Two backslashes are a whole escape.
  return JSON.parse(`${text.slice(0, left).replace(/(?<!\\)((?:\\\\)*)\\(?:u[0-9a-f]{0,3})?$/, "$1")}"`);
}

function cutContainer(value: object, room: { left: number }): unknown {
  if (room.left < 1) return undefined;
  const isList = Array.isArray(value);
  const kept: [string, unknown][] = [];
  room.left -= 1;
  for (const [name, entry] of Object.entries(value)) {
    room.left -= (kept.length > 0 ? 1 : 0) + (isList ? 0 : JSON.stringify(name).length + 1);
    const left = cut(entry, room);
    if (left === undefined) break;
    kept.push([name, left]);
  }
  room.left -= 1;
  return isList ? kept.map(([, entry]) => entry) : Object.fromEntries(kept);
}
