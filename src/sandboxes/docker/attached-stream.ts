const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * Takes apart what a daemon sends of a container's two outputs on one connection: eight bytes, of which the first says
 * which output and the last four how much, then so much of it. Nothing is kept but an unfinished header.
 */
export class AttachedStream {
  readonly #onStdout: (chunk: Buffer) => void;
  readonly #onStderr: (chunk: Buffer) => void;
  #header = Buffer.alloc(0);
  #toStderr = false;
  /** Bytes of the part under way that are still to come. */
  #left = 0;

  constructor(onStdout: (chunk: Buffer) => void, onStderr: (chunk: Buffer) => void) {
    this.#onStdout = onStdout;
    this.#onStderr = onStderr;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left === 0) {
        rest = this.#readHeader(rest);
      } else {
        const part = rest.subarray(0, this.#left);
        this.#left -= part.length;
        rest = rest.subarray(part.length);
        if (this.#toStderr) this.#onStderr(part);
        else this.#onStdout(part);
      }
    }
  }

  #readHeader(bytes: Buffer): Buffer {
    const missing = HEADER_BYTES - this.#header.length;
    const header =
      this.#header.length === 0
        ? bytes.subarray(0, missing)
        : Buffer.concat([this.#header, bytes.subarray(0, missing)]);
    if (header.length < HEADER_BYTES) {
      this.#header = Buffer.from(header);
      return bytes.subarray(bytes.length);
    }
    this.#header = Buffer.alloc(0);
    this.#toStderr = header[0] === STDERR;
    this.#left = header.readUInt32BE(4);
    return bytes.subarray(missing);
  }
}
