import type { Writable } from "node:stream";
import { encodeFrames, encodePrefix } from "../../bridge/wire.ts";

/** Bytes on their way to a guest that does not read, at most one part more. */
const HELD_BYTES = 256 * 1024;
/** Text turned into bytes at once, in UTF-16 code units. */
const PART_LENGTH = 128 * 1024;

/**
 * Frames for a guest, turned into bytes only as fast as it reads, and forgotten as they are. What it leaves unread is
 * held once, as the text that the execution's journal holds anyway, however many answers that are and however large.
 */
export class UnsentFrames {
  readonly #stream: Writable;
  #frames: string[] = [];
  /** The first of those that was not turned into bytes yet; those before it are empty. */
  #next = 0;
  /** How much of that one was. */
  #sent = 0;
  #waitingLength = 0;

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on("drain", () => this.#pump());
  }

  /** Text that is held because the guest has not read so far, in UTF-16 code units. */
  get waitingLength(): number {
    return this.#waitingLength;
  }

  push(frames: readonly string[]): void {
    for (const frame of frames) {
      this.#frames.push(frame);
      this.#waitingLength += frame.length;
    }
    this.#pump();
  }

  /** Drops what was not sent. */
  clear(): void {
    this.#frames = [];
    this.#next = 0;
    this.#sent = 0;
    this.#waitingLength = 0;
  }

  #pump(): void {
    while (this.#next < this.#frames.length && this.#stream.writableLength < HELD_BYTES && !this.#stream.destroyed) {
      const frame = this.#frames[this.#next] ?? "";
      this.#stream.write(frame.length > PART_LENGTH ? this.#takePart(frame) : encodeFrames(this.#takeSmall()));
    }
    if (this.#next === this.#frames.length) this.clear();
  }

  /** Small frames leave together. */
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

  /** The next part of a large frame, behind its prefix if it is the first. */
  #takePart(frame: string): Buffer {
    const start = this.#sent;
    let end = Math.min(start + PART_LENGTH, frame.length);
    // A pair of surrogates is one character, and encoded as one.
    if (end < frame.length && isHighSurrogate(frame.charCodeAt(end - 1))) end -= 1;
    const part = Buffer.from(frame.slice(start, end));
    this.#sent = end;
    if (end === frame.length) this.#forget();
    return start === 0 ? Buffer.concat([encodePrefix(Buffer.byteLength(frame)), part]) : part;
  }

  #forget(): void {
    this.#waitingLength -= this.#frames[this.#next]?.length ?? 0;
    this.#frames[this.#next] = "";
    this.#next += 1;
    this.#sent = 0;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd8_00 && code <= 0xdb_ff;
}
