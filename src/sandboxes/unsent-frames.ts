import type { Writable } from "node:stream";
import { encodeFrames, writePrefix } from "../../bridge/wire.ts";

/** Encoded bytes that are buffered for a guest that does not read, beside one more part. */
const HELD_BYTES = 256 * 1024;
const PART_BYTES = 128 * 1024;
const UNIT_BYTES = 3;

interface Piece {
  readonly text: string;
  /** Whether each UTF-16 code unit takes one byte: then it can be copied as it is. */
  readonly isPlain: boolean;
}

/**
 * A frame, which may be given in pieces. Those of a large frame are not joined to be sent: that would be a copy of it.
 */
export type FramePieces = string | readonly string[];

/**
 * Frames for a guest, encoded only as fast as the guest reads, and dropped once encoded. Unread frames cost almost no
 * memory of their own, however many and however large: they are the same strings that the execution's journal holds.
 */
export class UnsentFrames {
  readonly #stream: Writable;
  #frames: FramePieces[] = [];
  /** Index of the first frame that is not fully encoded; earlier frames are empty. */
  #next = 0;
  /** The pieces of the frame at `#next` that are not fully encoded, the first ones last, if a part of it is encoded. */
  #pieces: Piece[] | undefined;
  /** How much of the first of them is encoded, in UTF-16 code units. */
  #sent = 0;
  /** Memory for parts, which were written. */
  #free: Buffer[] = [];

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on("drain", () => this.#pump());
  }

  /** Frames that wait for the guest to read: they are not encoded to their ends. */
  get waiting(): number {
    return this.#frames.length - this.#next;
  }

  push(frames: readonly FramePieces[]): void {
    for (const frame of frames) this.#frames.push(frame);
    this.#pump();
  }

  clear(): void {
    this.#frames = [];
    this.#next = 0;
    this.#pieces = undefined;
    this.#free = [];
  }

  #pump(): void {
    while (this.#next < this.#frames.length && this.#stream.writableLength < HELD_BYTES && !this.#stream.destroyed) {
      const frame = this.#frames[this.#next] ?? "";
      if (lengthOf(frame) > PART_BYTES) this.#writePart(frame);
      else this.#stream.write(encodeFrames(this.#takeSmall()));
    }
    if (this.#next === this.#frames.length) this.clear();
  }

  #takeSmall(): string[] {
    const taken: string[] = [];
    for (let length = 0; this.#next < this.#frames.length;) {
      const frame = this.#frames[this.#next] ?? "";
      length += lengthOf(frame);
      if (length > PART_BYTES) break;
      taken.push(typeof frame === "string" ? frame : frame.join(""));
      this.#forget();
    }
    return taken;
  }

  /** Writes the next part of a large frame; the first part comes after the length prefix. */
  #writePart(frame: FramePieces): void {
    const part = this.#free.pop() ?? Buffer.allocUnsafeSlow(PART_BYTES);
    let filled = 0;
    if (!this.#pieces) {
      const texts = typeof frame === "string" ? [frame] : frame;
      const bytes = texts.map((text) => Buffer.byteLength(text));
      filled = writePrefix(
        part,
        bytes.reduce((sum, one) => sum + one, 0),
      );
      this.#pieces = texts.map((text, index) => ({ text, isPlain: bytes[index] === text.length })).toReversed();
      this.#sent = 0;
    }
    filled = this.#fill(part, filled, this.#pieces);
    // The memory of a part that was written serves for the next part: else a text leaves as much garbage as it is long.
    this.#stream.write(part.subarray(0, filled), () => {
      if (this.#pieces) this.#free.push(part);
    });
    if (this.#pieces.length === 0) this.#forget();
  }

  #fill(part: Buffer, filled: number, pieces: Piece[]): number {
    let end = filled;
    for (let piece = pieces.at(-1); piece; piece = pieces.at(-1)) {
      const { text, isPlain } = piece;
      let to = Math.min(this.#sent + Math.floor((part.length - end) / (isPlain ? 1 : UNIT_BYTES)), text.length);
      // A surrogate pair is one character and must be encoded as one.
      if (to > this.#sent && to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to -= 1;
      end += part.write(text.slice(this.#sent, to), end, isPlain ? "latin1" : "utf8");
      this.#sent = to;
      if (to < text.length) break;
      pieces.pop();
      this.#sent = 0;
    }
    return end;
  }

  #forget(): void {
    this.#frames[this.#next] = "";
    this.#next += 1;
    this.#pieces = undefined;
  }
}

function lengthOf(frame: FramePieces): number {
  return typeof frame === "string" ? frame.length : frame.reduce((sum, piece) => sum + piece.length, 0);
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd8_00 && code <= 0xdb_ff;
}
