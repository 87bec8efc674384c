import { isUtf8 } from "node:buffer";

/** Frames on a stream of bytes: a prefix of four bytes, big-endian, with the length of the text in bytes; then the text in UTF-8. */

const PREFIX_BYTES = 4;

/** The bytes of several frames, ready to be written at once. */
export function encodeFrames(frames: readonly string[]): Buffer {
  const lengths = frames.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length + PREFIX_BYTES, 0));
  let offset = 0;
  frames.forEach((text, index) => {
    offset = bytes.writeUInt32BE(lengths[index] ?? 0, offset);
    // Text of one-byte characters only can be copied as it is.
    offset += bytes.write(text, offset, lengths[index] === text.length ? "latin1" : "utf8");
  });
  return bytes;
}

/** The prefix of a frame of so many bytes, for a frame that is written in parts. */
export function encodePrefix(bytes: number): Buffer {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  prefix.writeUInt32BE(bytes);
  return prefix;
}

/** A frame that its reader does not take: larger than allowed, which the prefix says before any byte is kept, or no text. */
export type RefusedFrame = { readonly bytes: number; readonly allowed: number } | "no text";

/**
 * Splits a stream into frames. It holds at most one unfinished frame, of at most the allowed size. After a frame
 * that it refuses it reads nothing more, because what follows may not be a prefix. Bytes that are not UTF-8 are refused and
 * not replaced: each of them would become three bytes of text.
 */
export class FrameDecoder {
  #allowed: number;
  /** Buffer of an unfinished prefix or text, and how many of its bytes are filled. */
  #partial: Buffer | undefined;
  #filled = 0;
  #isPrefix = false;
  #refused: RefusedFrame | undefined;

  constructor(allowed: number) {
    this.#allowed = allowed;
  }

  /** Changes the allowed size, beginning with the next frame. */
  set allowed(bytes: number) {
    this.#allowed = bytes;
  }

  /** The frame after which nothing more is read. */
  get refused(): RefusedFrame | undefined {
    return this.#refused;
  }

  /** Reads a chunk and returns the frames that it completed, in order. */
  push(chunk: Buffer): string[] {
    const frames: string[] = [];
    for (let at = 0; at < chunk.length && !this.#refused;) {
      if (this.#partial) {
        at += this.#fill(this.#partial, chunk, at, frames);
        continue;
      }
      if (chunk.length - at < PREFIX_BYTES) {
        this.#expect(PREFIX_BYTES, true);
        continue;
      }
      const length = this.#allow(chunk.readUInt32BE(at));
      if (length === undefined) break;
      at += PREFIX_BYTES;
      if (chunk.length - at < length) {
        this.#expect(length, false);
        continue;
      }
      this.#take(chunk.subarray(at, at + length), frames);
      at += length;
    }
    return frames;
  }

  /** Copies bytes of the chunk into the unfinished part, and returns how many. */
  #fill(partial: Buffer, chunk: Buffer, at: number, frames: string[]): number {
    const copied = chunk.copy(partial, this.#filled, at);
    this.#filled += copied;
    if (this.#filled < partial.length) return copied;
    this.#partial = undefined;
    if (!this.#isPrefix) {
      this.#take(partial, frames);
      return copied;
    }
    const length = this.#allow(partial.readUInt32BE(0));
    if (length === 0) frames.push("");
    else if (length !== undefined) this.#expect(length, false);
    return copied;
  }

  #take(bytes: Buffer, frames: string[]): void {
    if (isUtf8(bytes)) frames.push(bytes.toString("utf8"));
    else this.#refused = "no text";
  }

  #expect(length: number, isPrefix: boolean): void {
    this.#partial = Buffer.allocUnsafeSlow(length);
    this.#filled = 0;
    this.#isPrefix = isPrefix;
  }

  /** The length in a prefix; undefined if it is not allowed. */
  #allow(length: number): number | undefined {
    if (length <= this.#allowed) return length;
    this.#refused = { bytes: length, allowed: this.#allowed };
    return undefined;
  }
}
