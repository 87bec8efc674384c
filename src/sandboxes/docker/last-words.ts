/** The end of what was printed: no more is kept than twice that, and adding to it costs what is added. */
export class LastWords {
  readonly #most: number;
  #kept = Buffer.alloc(0);
  #length = 0;
  #addedBytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Of all that was added. */
  get addedBytes(): number {
    return this.#addedBytes;
  }

  add(chunk: Buffer): void {
    this.#addedBytes += chunk.length;
    if (this.#kept.length === 0) this.#kept = Buffer.allocUnsafe(2 * this.#most);
    const end = chunk.subarray(Math.max(0, chunk.length - this.#most));
    if (this.#length + end.length > this.#kept.length) {
      this.#kept.copyWithin(0, this.#length - this.#most, this.#length);
      this.#length = this.#most;
    }
    this.#length += end.copy(this.#kept, this.#length);
  }

  toString(): string {
    return this.#kept.toString("utf8", Math.max(0, this.#length - this.#most), this.#length);
  }
}
