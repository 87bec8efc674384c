/**
 * A text of at most so many bytes and a line: where it has more, its middle is left out. `beforeTail` stands before what
 * follows, for texts whose lines begin in one way.
 */
export function cutMiddle(text: string, allowedBytes: number, beforeTail = ""): string {
  if (text.length <= allowedBytes && Buffer.byteLength(text) <= allowedBytes) return text;
  const half = Math.floor(allowedBytes / 2);
  // No character takes less than a byte, so that what is beyond so many units cannot be shown.
  const head = headOf(Buffer.from(text.slice(0, half)), half);
  const tail = tailOf(Buffer.from(text.slice(-half)), half);
  // Half of what begins a line would be a line of its own.
  const before = beforeTail !== "" && head.endsWith("\n ") ? head.slice(0, -2) : head;
  const left = Buffer.byteLength(text) - Buffer.byteLength(before) - Buffer.byteLength(tail);
  return `${before}\n… ${left} bytes left out …\n${beforeTail}${tail}`;
}

/** Whether a byte of UTF-8 goes on with a character. */
const goesOn = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

function headOf(bytes: Buffer, length: number): string {
  let end = Math.min(length, bytes.length);
  while (end > 0 && goesOn(bytes[end])) end -= 1;
  return withoutHalves(bytes.toString("utf8", 0, end));
}

function tailOf(bytes: Buffer, length: number): string {
  let start = Math.max(0, bytes.length - length);
  while (goesOn(bytes[start])) start += 1;
  return withoutHalves(bytes.toString("utf8", start));
}

/** Cutting between the halves of a surrogate pair leaves a character at the edge that stands for nothing. */
function withoutHalves(text: string): string {
  const from = text.startsWith("\ufffd") ? 1 : 0;
  return text.slice(from, text.endsWith("\ufffd") ? -1 : undefined);
}
