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
export function growingText() {
  let memory = new ArrayBuffer(0, { maxByteLength: ROOM_BYTES });
  let buffer = Buffer.from(memory);
  /** Size in UTF-8. */
  let size = 0;
  /** Length in UTF-16 code units. */
  let length = 0;

  /** Frees the memory at once, and not with the next garbage. */
  const free = (): void => memory.resize(0);

  const move = (bytes: number): void => {
    const wider = new ArrayBuffer(bytes, { maxByteLength: ROOM_FACTOR * bytes });
    const copy = Buffer.from(wider);
    buffer.copy(copy, 0, 0, size);
    free();
    memory = wider;
    buffer = copy;
  };

  return {
    free,

    get bytes(): number {
      return size;
    },

    /** Adds a part of so many bytes. Throws a `RangeError` if the process gets no more memory. */
    add(part: string, bytes: number): void {
      const needed = size + bytes;
      if (needed > memory.maxByteLength) move(needed);
      if (needed > memory.byteLength) memory.resize(Math.min(needed + GROWTH_BYTES, memory.maxByteLength));
      // A text whose characters each take one byte is copied as it is.
      buffer.write(part, size, bytes === part.length ? "latin1" : "utf8");
      size = needed;
      length += part.length;
    },

    /** Memory that the text takes as a string: see `memoryOf`. */
    get heldBytes(): number {
      return size === length ? size : length * 2;
    },

    /** The text, which node keeps outside of the heap if it is large. */
    toString: (): string => buffer.toString(size === length ? "latin1" : "utf8", 0, size),
  };
}
