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
  #chunks: Buffer[] = [];
  #buffered = 0;
  /** Bytes that the frame under way has, its prefix included; undefined until that was read. */
  #expected: number | undefined;
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
    if (this.#oversize) return [];
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    const frames: string[] = [];
    if (this.#buffered < (this.#expected ?? PREFIX_BYTES)) return frames;
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    let start = 0;
    while (this.#readPrefix(bytes, start) && start + (this.#expected ?? 0) <= bytes.length) {
      const end = start + (this.#expected ?? 0);
      frames.push(bytes.toString("utf8", start + PREFIX_BYTES, end));
      this.#expected = undefined;
      start = end;
    }
    this.#chunks = this.#oversize || start === bytes.length ? [] : [bytes.subarray(start)];
    this.#buffered = bytes.length - start;
    return frames;
  }

  /** Whether the frame at `start` has a prefix, and one that is allowed now. */
  #readPrefix(bytes: Buffer, start: number): boolean {
    if (this.#expected !== undefined) return true;
    if (bytes.length - start < PREFIX_BYTES) return false;
    const length = bytes.readUInt32BE(start);
    if (length > this.#allowed) {
      this.#oversize = { bytes: length, allowed: this.#allowed };
      return false;
    }
    this.#expected = PREFIX_BYTES + length;
    return true;
  }
}
