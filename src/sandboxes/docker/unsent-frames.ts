import type { Writable } from "node:stream";
import { encodeFrames } from "../../../bridge/wire.ts";

/** Bytes on their way to a guest that does not read, at most one batch more. */
const HELD_BYTES = 256 * 1024;
/** Text turned into bytes at once, in UTF-16 code units; a larger frame is one batch of its own. */
const BATCH_LENGTH = 256 * 1024;

/**
 * Frames for a guest, turned into bytes only as fast as it reads. What it leaves unread is held once, as the text that
 * the execution's journal holds anyway, however many answers that are.
 */
export class UnsentFrames {
  readonly #stream: Writable;
  #frames: string[] = [];
  #next = 0;

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on("drain", () => this.#pump());
  }

  push(frames: readonly string[]): void {
    for (const frame of frames) this.#frames.push(frame);
    this.#pump();
  }

  /** Drops what was not sent. */
  clear(): void {
    this.#frames = [];
    this.#next = 0;
  }

  #pump(): void {
    while (this.#next < this.#frames.length && this.#stream.writableLength < HELD_BYTES && !this.#stream.destroyed)
      this.#stream.write(encodeFrames(this.#takeBatch()));
    if (this.#next === this.#frames.length) this.clear();
  }

  #takeBatch(): string[] {
    const first = this.#next;
    let length = 0;
    while (this.#next < this.#frames.length && length < BATCH_LENGTH) {
      length += this.#frames[this.#next]?.length ?? 0;
      this.#next += 1;
    }
    return this.#frames.slice(first, this.#next);
  }
}
