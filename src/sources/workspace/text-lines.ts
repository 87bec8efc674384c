import { isUtf8 } from "node:buffer";

/** Bytes at the beginning of a file in which a zero says that it holds no text. */
const LOOKED_AT = 8192;
/** Bytes between two places at which the caller may let others have the thread: at most as many lines. */
const SLICE_BYTES = 4096;
const NEWLINE = 10;
const RETURN = 13;

/** Whether bytes are text: UTF-8 without a character 0 near their beginning. */
export function isText(bytes: Buffer): boolean {
  return !bytes.subarray(0, LOOKED_AT).includes(0) && isUtf8(bytes);
}

/** The lines of a text, without what ends them, and `undefined` where the caller may let others have the thread. */
export function* linesOf(bytes: Buffer): Generator<{ number: number; bytes: Buffer } | undefined, undefined> {
  let read = 0;
  let number = 0;
  for (let from = 0; from < bytes.length;) {
    const found = bytes.indexOf(NEWLINE, from);
    const end = found === -1 ? bytes.length : found;
    number += 1;
    yield { number, bytes: bytes.subarray(from, bytes[end - 1] === RETURN && end > from ? end - 1 : end) };
    from = end + 1;
    if (from - read < SLICE_BYTES) continue;
    read = from;
    yield undefined;
  }
  return undefined;
}
