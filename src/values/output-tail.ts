/** Keeps the last `maxBytes` of a process's output. Chunks are joined in groups, because each may be a single byte. */
export class OutputTail {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #all = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    this.#all += chunk.length;
    // Copied, because a chunk may be a view of a larger buffer.
    this.#chunks.push(Buffer.from(chunk.subarray(-this.#maxBytes)));
    this.#bytes += Math.min(chunk.length, this.#maxBytes);
    if (this.#bytes > 2 * this.#maxBytes || this.#chunks.length > this.#maxBytes) this.#join();
  }

  /** Whether there was more than is kept. */
  get isCut(): boolean {
    return this.#all > this.#maxBytes;
  }

  get text(): string {
    return this.#join().toString("utf8");
  }

  #join(): Buffer {
    const joined = Buffer.concat(this.#chunks).subarray(-this.#maxBytes);
    this.#chunks = [joined];
    this.#bytes = joined.length;
    return joined;
  }
}
