/** The end of what a guest's process has printed. Cut only now and then: it may print a byte at a time. */
export class LastWords {
  readonly #mostBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  add(chunk: Buffer): void {
    // Copied, for a chunk may be a view of a larger one.
    this.#chunks.push(Buffer.from(chunk.subarray(-this.#mostBytes)));
    this.#bytes += Math.min(chunk.length, this.#mostBytes);
    if (this.#bytes > 2 * this.#mostBytes || this.#chunks.length > this.#mostBytes) this.#join();
  }

  get text(): string {
    return this.#join().toString("utf8");
  }

  #join(): Buffer {
    const joined = Buffer.concat(this.#chunks).subarray(-this.#mostBytes);
    this.#chunks = [joined];
    this.#bytes = joined.length;
    return joined;
  }
}
