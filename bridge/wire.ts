/** Frames on a stream of bytes: four bytes, big-endian, say how many bytes of UTF-8 follow; then the text. */

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

/** What stands before a frame of so many bytes, for one that is written in parts. */
export function encodePrefix(bytes: number): Buffer {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  prefix.writeUInt32BE(bytes);
  return prefix;
}

/** A frame larger than its reader allows: found in the prefix, before any of its bytes are kept. */
export interface OversizeFrame {
  readonly bytes: number;
  readonly allowed: number;
}

/**
 * Cuts a stream into frames. It never holds more than one unfinished frame, and never more of that than
 * the allowed size. After an oversize frame it is finished: what follows cannot be trusted to be a prefix.
 */
export class FrameDecoder {
  #allowed: number;
  /** What is there of the prefix or the text under way, and how much of that is filled. */
  #partial: Buffer | undefined;
  #filled = 0;
  #isPrefix = false;
  #oversize: OversizeFrame | undefined;

  constructor(allowed: number) {
    this.#allowed = allowed;
  }

  /** Changes the allowed size, from the next frame on. */
  set allowed(bytes: number) {
    this.#allowed = bytes;
  }

  /** Set once a prefix announced more than is allowed. */
  get oversize(): OversizeFrame | undefined {
    return this.#oversize;
  }

  /** Takes a chunk and returns the frames it completed, in order. */
  push(chunk: Buffer): string[] {
    const frames: string[] = [];
    for (let at = 0; at < chunk.length && !this.#oversize;) {
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
      frames.push(chunk.toString("utf8", at, at + length));
      at += length;
    }
    return frames;
  }

  /** Copies what belongs to the part under way, however small the chunks are, and returns how much that was. */
  #fill(partial: Buffer, chunk: Buffer, at: number, frames: string[]): number {
    const copied = chunk.copy(partial, this.#filled, at);
    this.#filled += copied;
    if (this.#filled < partial.length) return copied;
    this.#partial = undefined;
    if (!this.#isPrefix) {
      frames.push(partial.toString("utf8"));
      return copied;
    }
    const length = this.#allow(partial.readUInt32BE(0));
    if (length === 0) frames.push("");
    else if (length !== undefined) this.#expect(length, false);
    return copied;
  }

  #expect(length: number, isPrefix: boolean): void {
    this.#partial = Buffer.allocUnsafeSlow(length);
    this.#filled = 0;
    this.#isPrefix = isPrefix;
  }

  /** The length that a prefix announces, where it is allowed. */
  #allow(length: number): number | undefined {
    if (length <= this.#allowed) return length;
    this.#oversize = { bytes: length, allowed: this.#allowed };
    return undefined;
  }
}
