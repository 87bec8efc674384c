import { sumOf } from "../base/index.ts";
import type { Writable } from "node:stream";
import { encodeFrames, PREFIX_BYTES } from "../../bridge/wire.ts";

/** Encoded bytes that are buffered for a guest that does not read, beside one more part. */
const HELD_BYTES = 256 * 1024;
/** Length of a part, in UTF-16 code units. */
const PART_LENGTH = 128 * 1024;

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
  /** The parts of the frame at `#next` that are not encoded, the first ones last, if a part of it is encoded. */
  #parts: string[] | undefined;

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
    this.#parts = undefined;
  }

  #pump(): void {
    while (this.#next < this.#frames.length && this.#stream.writableLength < HELD_BYTES && !this.#stream.destroyed) {
      const frame = this.#frames[this.#next] ?? "";
      if (this.#parts || lengthOf(frame) > PART_LENGTH) this.#writePart(frame);
      else this.#stream.write(encodeFrames(this.#takeSmall()));
    }
    if (this.#next === this.#frames.length) this.clear();
  }

  #takeSmall(): string[] {
    const frames: string[] = [];
    for (let length = 0; this.#next < this.#frames.length;) {
      const frame = this.#frames[this.#next] ?? "";
      length += lengthOf(frame);
      if (length > PART_LENGTH) break;
      frames.push([frame].flat().join(""));
      this.#forget();
    }
    return frames;
  }

  /** Writes the next part of a large frame; the first part comes after the length prefix. */
  #writePart(frame: FramePieces): void {
    if (!this.#parts) {
      const texts = [frame].flat();
      const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
      prefix.writeUInt32BE(sumOf(texts, (text) => Buffer.byteLength(text)));
      this.#stream.write(prefix);
      this.#parts = texts.flatMap(partsOf).toReversed();
    }
    this.#stream.write(this.#parts.pop() ?? "");
    if (this.#parts.length === 0) this.#forget();
  }

  #forget(): void {
    this.#frames[this.#next] = "";
    this.#next += 1;
    this.#parts = undefined;
  }
}

function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length; from += parts.at(-1)?.length ?? 0) {
    const end = from + PART_LENGTH;
    // A surrogate pair is one character and must be encoded as one.
    const isSplit = end < text.length && /[\ud800-\udbff]/.test(text.charAt(end - 1));
    parts.push(text.slice(from, isSplit ? end - 1 : end));
  }
  return parts;
}

function lengthOf(frame: FramePieces): number {
  return sumOf([frame].flat(), (piece) => piece.length);
}
