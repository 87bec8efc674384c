import { isUtf8 } from "node:buffer";

/** On a stream, a frame is a prefix of four bytes with the length of the text in bytes, big-endian, and the text in UTF-8. */

export const PREFIX_BYTES = 4;

export function encodeFrames(frames: readonly string[]): Buffer {
  const lengths = frames.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length + PREFIX_BYTES, 0));
  let offset = 0;
  frames.forEach((text, index) => {
    offset = bytes.writeUInt32BE(lengths[index] ?? 0, offset);
    // A text whose characters each take one byte is copied as it is.
    offset += bytes.write(text, offset, lengths[index] === text.length ? "latin1" : "utf8");
  });
  return bytes;
}

/** Why a frame is refused: its prefix says that it is larger than allowed, or its bytes are no text. */
export type RefusedFrame = { readonly bytes: number; readonly allowed: number } | "no text";

/**
 * Splits a stream into frames. It holds at most one unfinished frame, of at most the allowed size. After a refused frame
 * it reads nothing more, because what follows may not be a prefix. Bytes that are not UTF-8 are refused and not replaced:
 * each of them would become three bytes of text.
 */
export class FrameDecoder {
  /** Size of the largest frame that is taken. A change holds from the next frame on. */
  allowed: number;
  /** The frame after which nothing more is read. */
  refused: RefusedFrame | undefined;
  #isPrefix = true;
  /** Length of the part under way, which is a prefix or a text. */
  #length = PREFIX_BYTES;
  /** Bytes of this part so far, if a chunk has ended within it. */
  #partial: Buffer | undefined;
  #filled = 0;

  constructor(allowed: number) {
    this.allowed = allowed;
  }

  /** Reads a chunk and returns the frames that it completed, in order. */
  push(chunk: Buffer): string[] {
    const frames: string[] = [];
    // A text of no bytes is complete with its prefix.
    for (let at = 0; !this.refused && (at < chunk.length || this.#length === 0);) {
      const missing = this.#length - this.#filled;
      const found = chunk.subarray(at, at + missing);
      at += found.length;
      if (this.#partial || found.length < missing) {
        this.#partial ??= Buffer.allocUnsafeSlow(this.#length);
        this.#filled += found.copy(this.#partial, this.#filled);
      }
      if (found.length === missing) this.#take(this.#partial ?? found, frames);
    }
    return frames;
  }

  #take(part: Buffer, frames: string[]): void {
    const bytes = this.#isPrefix ? part.readUInt32BE(0) : PREFIX_BYTES;
    if (this.#isPrefix && bytes > this.allowed) this.refused = { bytes, allowed: this.allowed };
    else if (!this.#isPrefix && !isUtf8(part)) this.refused = "no text";
    else if (!this.#isPrefix) frames.push(part.toString("utf8"));
    this.#isPrefix = !this.#isPrefix;
    this.#length = bytes;
    this.#partial = undefined;
    this.#filled = 0;
  }
}
