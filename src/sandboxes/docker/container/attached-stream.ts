const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * Splits the daemon's stream of a container's output into standard output and standard error. Each part has a header of
 * eight bytes: the first names the output, the last four give the part's length. Only an incomplete header is buffered.
 */
export class AttachedStream {
  readonly #onStdout: (chunk: Buffer) => void;
  readonly #onStderr: (chunk: Buffer) => void;
  #header = Buffer.alloc(0);
  #toStderr = false;
  /** Bytes of the current part that have not arrived yet. */
  #remaining = 0;

  constructor(onStdout: (chunk: Buffer) => void, onStderr: (chunk: Buffer) => void) {
    this.#onStdout = onStdout;
    this.#onStderr = onStderr;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#remaining === 0) {
        rest = this.#readHeader(rest);
      } else {
        const part = rest.subarray(0, this.#remaining);
        this.#remaining -= part.length;
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
    this.#remaining = header.readUInt32BE(4);
    return bytes.subarray(missing);
  }
}
