const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * Splits the daemon's stream of a container's output into standard output and standard error. Each part has a header of
 * eight bytes: the first names the output, the last four give the part's length. Only an incomplete header is buffered.
 */
export class AttachedStream {
  readonly #onStdout: (chunk: Buffer) => void;
  readonly #onStderr: (chunk: Buffer) => void;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  /** Bytes of the current part that have not arrived yet. */
  #remaining = 0;

  constructor(onStdout: (chunk: Buffer) => void, onStderr: (chunk: Buffer) => void) {
    this.#onStdout = onStdout;
    this.#onStderr = onStderr;
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#remaining === 0) {
        at += this.#readHeader(chunk, at);
        continue;
      }
      const part = chunk.subarray(at, at + this.#remaining);
      this.#remaining -= part.length;
      at += part.length;
      if (this.#header[0] === STDERR) this.#onStderr(part);
      else this.#onStdout(part);
    }
  }

  #readHeader(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#header, this.#headerBytes, at);
    this.#headerBytes = (this.#headerBytes + copied) % HEADER_BYTES;
    if (this.#headerBytes === 0) this.#remaining = this.#header.readUInt32BE(4);
    return copied;
  }
}
