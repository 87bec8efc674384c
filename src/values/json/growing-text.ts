import { constants } from "node:buffer";

/** How much a text grows at a time, in bytes. */
const GROWTH_BYTES = 1024 * 1024;

/**
 * A large text that is made in parts. The parts lie outside of V8's heap, as UTF-8. A text that is concatenated of many parts
 * would keep them all in the heap, make V8's young generation grow, and be copied in the heap once it is read.
 */
export class GrowingText {
  readonly #memory: ArrayBuffer;
  readonly #buffer: Buffer;
  /** Size in UTF-8. */
  bytes = 0;
  /** Length in UTF-16 code units. */
  #length = 0;

  /** `maxBytes` is address space, and takes no memory. */
  constructor(maxBytes: number) {
    this.#memory = new ArrayBuffer(0, { maxByteLength: Math.min(maxBytes, constants.MAX_STRING_LENGTH) });
    this.#buffer = Buffer.from(this.#memory);
  }

  /** Adds a part of so many bytes. */
  add(part: string, bytes: number): void {
    const needed = this.bytes + bytes;
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

  /** Frees the memory at once, and not with the next garbage. */
  free(): void {
    this.#memory.resize(0);
  }
}
