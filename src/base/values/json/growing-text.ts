/** How much a text grows at a time, in bytes. */
const GROWTH_BYTES = 1024 * 1024;
/** Address space that is reserved first, in bytes. It takes no memory, but a process may have a limit of it. */
const ROOM_BYTES = 4 * 1024 * 1024;
/** A text that has outgrown its address space gets so many times its length. */
const ROOM_FACTOR = 4;

/**
 * A large text that is made in parts. The parts lie outside of V8's heap, as UTF-8. A text that is concatenated of many parts
 * would keep them all in the heap, make V8's young generation grow, and be copied in the heap once it is read.
 */
export class GrowingText {
  #memory = new ArrayBuffer(0, { maxByteLength: ROOM_BYTES });
  #buffer = Buffer.from(this.#memory);
  /** Size in UTF-8. */
  bytes = 0;
  /** Length in UTF-16 code units. */
  #length = 0;

  /** Adds a part of so many bytes. Throws a `RangeError` if the process gets no more memory. */
  add(part: string, bytes: number): void {
    const needed = this.bytes + bytes;
    if (needed > this.#memory.maxByteLength) this.#move(needed);
    if (needed > this.#memory.byteLength)
      this.#memory.resize(Math.min(needed + GROWTH_BYTES, this.#memory.maxByteLength));
    // A text whose characters each take one byte is copied as it is.
    this.#buffer.write(part, this.bytes, bytes === part.length ? "latin1" : "utf8");
    this.bytes = needed;
    this.#length += part.length;
  }

  /** Memory that the text takes as a string: see `memoryOf`. */
  get heldBytes(): number {
    return this.bytes === this.#length ? this.bytes : this.#length * 2;
  }

  /** The text, which node keeps outside of the heap if it is large. */
  toString(): string {
    return this.#buffer.toString(this.bytes === this.#length ? "latin1" : "utf8", 0, this.bytes);
  }

  #move(bytes: number): void {
    const memory = new ArrayBuffer(bytes, { maxByteLength: ROOM_FACTOR * bytes });
    const buffer = Buffer.from(memory);
    this.#buffer.copy(buffer, 0, 0, this.bytes);
    this.free();
    this.#memory = memory;
    this.#buffer = buffer;
  }

  /** Frees the memory at once, and not with the next garbage. */
  free(): void {
    this.#memory.resize(0);
  }
}
