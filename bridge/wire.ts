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
    for (;;) {
      const length = this.#nextLength();
      if (length === undefined) return frames;
      if (length > this.#allowed) {
        this.#oversize = { bytes: length, allowed: this.#allowed };
        this.#chunks = [];
        return frames;
      }
      if (this.#buffered < PREFIX_BYTES + length) return frames;
      frames.push(this.#take(PREFIX_BYTES + length).toString("utf8", PREFIX_BYTES));
    }
  }

  #nextLength(): number | undefined {
    if (this.#buffered < PREFIX_BYTES) return undefined;
    const first = this.#chunks[0];
    if (!first || first.length < PREFIX_BYTES) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]?.readUInt32BE(0);
  }

  #take(bytes: number): Buffer {
    const first = this.#chunks[0];
    const all = first && first.length >= bytes ? first : Buffer.concat(this.#chunks);
    const rest = all.subarray(bytes);
    this.#chunks = first === all ? [rest, ...this.#chunks.slice(1)] : [rest];
    if (rest.length === 0) this.#chunks.shift();
    this.#buffered -= bytes;
    return all.subarray(0, bytes);
  }
}
