import type { Writable } from "node:stream";
import { encodeFrames, encodePrefix } from "../../bridge/wire.ts";

/** Encoded bytes that are buffered for a guest that does not read, beside one more part. */
const HELD_BYTES = 256 * 1024;
/** Text that is encoded at once, in UTF-16 code units. */
const PART_LENGTH = 128 * 1024;

/**
 * Frames for a guest, encoded only as fast as the guest reads, and dropped once encoded. Unread frames cost almost no
 * memory of their own, however many and however large: they are the same strings that the execution's journal holds.
 */
export class UnsentFrames {
  readonly #stream: Writable;
  #frames: string[] = [];
  /** Index of the first frame that is not fully encoded; earlier frames are empty. */
  #next = 0;
  /** How much of the frame at `#next` is encoded, in UTF-16 code units. */
  #sent = 0;
  /** Bytes of the frame at `#next`, once its first part is encoded. */
  #bytes = 0;

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on("drain", () => this.#pump());
  }

  /** Length of the text that waits for the guest to read, in UTF-16 code units. */
  get waitingLength(): number {
    return this.#frames.reduce((sum, frame) => sum + frame.length, 0);
  }

  push(frames: readonly string[]): void {
    for (const frame of frames) this.#frames.push(frame);
    this.#pump();
  }

  /** Drops all frames that were not sent. */
  clear(): void {
    this.#frames = [];
    this.#next = 0;
    this.#sent = 0;
  }

  #pump(): void {
    while (this.#next < this.#frames.length && this.#stream.writableLength < HELD_BYTES && !this.#stream.destroyed) {
      const frame = this.#frames[this.#next] ?? "";
      if (frame.length > PART_LENGTH) this.#writePart(frame);
      else this.#stream.write(encodeFrames(this.#takeSmall()));
    }
    if (this.#next === this.#frames.length) this.clear();
  }

  /** Takes as many small frames as fit into one part. */
  #takeSmall(): string[] {
    const taken: string[] = [];
    for (let length = 0; this.#next < this.#frames.length;) {
      const frame = this.#frames[this.#next] ?? "";
      length += frame.length;
      if (length > PART_LENGTH) break;
      taken.push(frame);
      this.#forget();
    }
    return taken;
  }

  /** Writes the next part of a large frame; the length prefix goes out together with the first part. */
  #writePart(frame: string): void {
    const start = this.#sent;
    let end = Math.min(start + PART_LENGTH, frame.length);
    // A surrogate pair is one character and must be encoded as one.
    if (end < frame.length && isHighSurrogate(frame.charCodeAt(end - 1))) end -= 1;
    if (start === 0) this.#bytes = Buffer.byteLength(frame);
    // Text of one-byte characters only can be copied as it is.
    const part = Buffer.from(frame.slice(start, end), this.#bytes === frame.length ? "latin1" : "utf8");
    this.#sent = end;
    if (end === frame.length) this.#forget();
    if (start > 0) return void this.#stream.write(part);
    this.#stream.cork();
    this.#stream.write(encodePrefix(this.#bytes));
    this.#stream.write(part);
    this.#stream.uncork();
  }

  #forget(): void {
    this.#frames[this.#next] = "";
    this.#next += 1;
    this.#sent = 0;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd8_00 && code <= 0xdb_ff;
}
