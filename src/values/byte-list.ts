/** Maximum bytes of a block that small parts are copied into. */
const BLOCK_BYTES = 64 * 1024;

/**
 * Collects parts of a stream, however it was cut, in little more memory than their bytes. A list of the parts
 * themselves would take some hundred bytes for each part, and would keep alive the larger buffers behind the parts.
 */
export class ByteList {
  #whole: Uint8Array[] = [];
  #block = new Uint8Array();
  /** Bytes of the block that are used. */
  #used = 0;
  bytes = 0;

  add(part: Uint8Array): void {
    this.bytes += part.byteLength;
    for (let rest = part; rest.byteLength > 0;) {
      if (this.#used === this.#block.byteLength) this.#newBlock(rest.byteLength);
      const taken = rest.subarray(0, this.#block.byteLength - this.#used);
      this.#block.set(taken, this.#used);
      this.#used += taken.byteLength;
      rest = rest.subarray(taken.byteLength);
    }
  }

  /** All bytes, with `last` behind them, in one buffer. The list is empty afterwards. */
  take(last: Uint8Array = new Uint8Array()): Buffer {
    const parts = [...this.#whole, this.#block.subarray(0, this.#used), last].filter((part) => part.byteLength > 0);
    this.#whole = [];
    this.#block = new Uint8Array();
    this.#used = 0;
    this.bytes = 0;
    const [only] = parts;
    return parts.length === 1 && only
      ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
      : Buffer.concat(parts);
  }

  /** Blocks grow with the list: most lists hold one short part. */
  #newBlock(bytes: number): void {
    if (this.#used > 0) this.#whole.push(this.#block);
    this.#block = new Uint8Array(Math.max(bytes, Math.min(BLOCK_BYTES, this.bytes)));
    this.#used = 0;
  }
}
