import type { TokenCounter } from "../accounting/exchange.ts";

/** Longest text of a token in the encodings used, in UTF-16 code units: spaces in a row. */
const TOKEN_LENGTH = 128;

const MARK = "… [cut]";

/** The beginning of a text, of about so many tokens, with a mark where it was cut; the text itself where it has no more. */
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

/** What a careful reader still knows of a JSON value of whose text only the first `length` characters are left. */
export function cutValue(value: unknown, length: number): unknown {
  const room = { left: length };
  return cut(value, room) ?? null;
}

/** Undefined where nothing is left of it. */
function cut(value: unknown, room: { left: number }): unknown {
  if (typeof value === "object" && value !== null) return cutContainer(value, room);
  const text = JSON.stringify(value);
  const left = room.left;
  room.left -= text.length;
  if (text.length <= left) return value;
  if (typeof value !== "string" || left < 1) return undefined;
  // An escape that was halved is no character; two backslashes are a whole one.
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
