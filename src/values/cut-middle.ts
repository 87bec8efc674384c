/**
 * Cuts the middle out of a text with more than `allowedBytes` bytes of UTF-8, and puts a line with the number of
 * omitted bytes there. `beforeTail` is put before the rest, for texts whose lines all have the same prefix. `besides`,
 * like ` and 3 lines`, is added to that line, for what was left out of the text before.
 */
export function cutMiddle(text: string, allowedBytes: number, beforeTail = "", besides = ""): string {
  if (text.length <= allowedBytes && Buffer.byteLength(text) <= allowedBytes) return text;
  const half = Math.floor(allowedBytes / 2);
  // Each UTF-16 unit takes at least one byte, so `half` units are enough for `half` bytes.
  const head = headOf(Buffer.from(text.slice(0, half)), half);
  const tail = tailOf(Buffer.from(text.slice(-half)), half);
  // A head that ends within a line's prefix would leave a line with half a prefix.
  const before = beforeTail !== "" && head.endsWith("\n ") ? head.slice(0, -2) : head;
  const omitted = Buffer.byteLength(text) - Buffer.byteLength(before) - Buffer.byteLength(tail);
  return `${before}\n… ${omitted} bytes${besides} left out …\n${beforeTail}${tail}`;
}

/** Whether a byte of UTF-8 continues a character. */
const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

function headOf(bytes: Buffer, length: number): string {
  let end = Math.min(length, bytes.length);
  while (end > 0 && continues(bytes[end])) end -= 1;
  return withoutHalves(bytes.toString("utf8", 0, end));
}

function tailOf(bytes: Buffer, length: number): string {
  let start = Math.max(0, bytes.length - length);
  while (continues(bytes[start])) start += 1;
  return withoutHalves(bytes.toString("utf8", start));
}

/** Removes the replacement characters at the edges, which come from cutting a surrogate pair in half. */
function withoutHalves(text: string): string {
  const from = text.startsWith("\ufffd") ? 1 : 0;
  return text.slice(from, text.endsWith("\ufffd") ? -1 : undefined);
}
