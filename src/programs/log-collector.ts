/** What a program printed, bounded. */
export interface Logs {
  /** As it was printed, with a line that says how many were left out where some were. */
  readonly text: string;
  /** Lines printed, those left out included. */
  readonly lines: number;
  /** UTF-8 bytes of `text`. */
  readonly bytes: number;
  /** Lines left out. */
  readonly dropped: number;
}

/** Collects what a guest prints. The guest keeps to `logBytes` at the start and at the end; a guest that does not is found out here. */
export class LogCollector {
  readonly #allowedLength: number;
  readonly #parts: string[] = [];
  #length = 0;
  #lines = 0;
  #dropped = 0;

  /** `logBytes` twice, and something for the words that a shortened line ends with. */
  constructor(logBytes: number) {
    this.#allowedLength = logBytes * 2 + 1024;
  }

  /** Whether more was sent than an honest guest sends. */
  get overflowed(): boolean {
    return this.#length > this.#allowedLength;
  }

  add(text: string, dropped: number): void {
    this.#length += text.length;
    if (this.overflowed) return;
    if (dropped > 0) this.#parts.push(`… ${dropped} ${dropped === 1 ? "line" : "lines"} left out …\n`);
    this.#parts.push(text);
    this.#dropped += dropped;
    this.#lines += dropped + text.split("\n").length - 1;
  }

  get logs(): Logs {
    const text = this.#parts.join("");
    return { text, lines: this.#lines, bytes: Buffer.byteLength(text), dropped: this.#dropped };
  }
}
