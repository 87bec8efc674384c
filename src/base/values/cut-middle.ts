export interface Ends {
  readonly first: string;
  /** UTF-16 units that are left out between them. */
  readonly between: number;
  readonly last: string;
}

/** A text of which only the beginning and the end are at hand. */
export interface LongText {
  readonly first: string;
  readonly last: string;
  /** UTF-16 units of the whole text. */
  readonly length: number;
}

/** The ends of a text, of at most `allowedBytes` bytes of UTF-8 together. The text must have more. */
export function endsOf(long: string | LongText, allowedBytes: number): Ends {
  const { first, last, length } = typeof long === "string" ? { first: long, last: long, length: long.length } : long;
  const half = Math.floor(allowedBytes / 2);
  const head = first.slice(0, fittingUnits(first, half, 1));
  const tail = last.slice(last.length - fittingUnits(last, half, -1));
  return { first: head, between: length - head.length - tail.length, last: tail };
}

/** What stands between the ends of a text that are shown in one line. */
export function betweenText(characters: number): string {
  return `… ${characters} characters left out …`;
}

/**
 * Cuts the middle out of a text with more than `allowedBytes` bytes of UTF-8, and puts a line with the number of
 * omitted bytes there. `beforeTail` is put before the rest, for texts whose lines all have the same prefix. `besides`,
 * like ` and 3 lines`, is added to that line, for what was left out of the text before.
 */
export function cutMiddle(text: string, allowedBytes: number, beforeTail = "", besides = ""): string {
  return cutCleaned(text, (end) => end, allowedBytes, beforeTail, besides).text;
}

/**
 * As `cutMiddle` of what `clean` makes of a text, of which it is given no more than the ends: cleaning takes long, and a text
 * may have millions of characters.
 */
export function cutCleaned(
  text: string,
  clean: (text: string) => string,
  allowedBytes: number,
  beforeTail: string,
  besides = "",
): { readonly text: string; readonly isCut: boolean } {
  const isShort = text.length <= allowedBytes;
  const whole = isShort ? clean(text) : text;
  if (isShort && Buffer.byteLength(whole) <= allowedBytes) return { text: whole, isCut: false };
  const ends = endsOf(whole, allowedBytes);
  const [first, last] = isShort ? [ends.first, ends.last] : [clean(ends.first), clean(ends.last)];
  const { first: head, last: tail } = endsOf({ first, last, length: 0 }, allowedBytes);
  // A head that ends within a line's prefix would leave a line with half a prefix.
  const before = beforeTail !== "" && head.endsWith("\n ") ? head.slice(0, -2) : head;
  const shown = Buffer.byteLength(before) + Buffer.byteLength(tail);
  const cleaned = Buffer.byteLength(first) + Buffer.byteLength(last);
  const between = Buffer.byteLength(whole) - Buffer.byteLength(ends.first) - Buffer.byteLength(ends.last);
  const after = beforeTail !== "" && tail.startsWith(beforeTail) ? tail : beforeTail + tail;
  return {
    text: `${before}\n… ${between + cleaned - shown} bytes${besides} left out …\n${after}`,
    isCut: true,
  };
}

/** UTF-16 units at the beginning (`step` 1) or at the end (-1) of a text that take at most so many bytes of UTF-8. No pair is halved. */
function fittingUnits(text: string, allowedBytes: number, step: 1 | -1): number {
  const { length } = text;
  const unitAt = (place: number) => text.charCodeAt(step === 1 ? place : length - 1 - place);
  let bytes = 0;
  let units = 0;
  while (units < length) {
    const unit = unitAt(units);
    const isPair = isSurrogate(unit) && isPairOf(unit, unitAt(units + 1), step);
    bytes += isPair ? 4 : unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
    if (bytes > allowedBytes) break;
    units += isPair ? 2 : 1;
  }
  return units;
}

const isSurrogate = (unit: number) => unit >= 0xd800 && unit < 0xe000;

function isPairOf(unit: number, next: number, step: 1 | -1): boolean {
  const [high, low] = step === 1 ? [unit, next] : [next, unit];
  return high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000;
}

/** The offsets at which `part` occurs in `text` from `from` on, without overlaps. An empty part occurs nowhere. */
export function* occurrences(text: string, part: string, from = 0): Generator<number, undefined> {
  if (part === "") return;
  for (let at = text.indexOf(part, from); at >= 0; at = text.indexOf(part, at + part.length)) yield at;
}
