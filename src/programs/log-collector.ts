import { readPlainData } from "../values/plain-data.ts";

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

/** What an output frame comes to: text; more than an honest guest prints; or no JSON string. */
export type Printed =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "overflow" }
  | { readonly type: "malformed" };

/** Most characters of JSON that stand for one byte of a text. */
const ESCAPE_LENGTH = 6;

/** Collects what a guest prints. The guest keeps to `logBytes` at the start and at the end; a guest that does not is found out here. */
export class LogCollector {
  readonly #allowedBytes: number;
  readonly #parts: string[] = [];
  #bytes = 0;
  #lines = 0;
  #dropped = 0;

  /** `logBytes` twice, and something for the words that a shortened line ends with. */
  constructor(logBytes: number) {
    this.#allowedBytes = logBytes * 2 + 1024;
  }

  /** Bytes of UTF-8 that were sent. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether more was sent than an honest guest sends. */
  get overflowed(): boolean {
    return this.#bytes > this.#allowedBytes;
  }

  /** Takes in what a guest printed. */
  take({ body, dropped }: { readonly body: string; readonly dropped: number }): Printed {
    if (!body.startsWith('"')) return { type: "malformed" };
    if (this.refuse(body.length)) return { type: "overflow" };
    const read = readPlainData(body);
    if (!read.ok || typeof read.value !== "string") return { type: "malformed" };
    this.add(read.value, dropped);
    return this.overflowed ? { type: "overflow" } : { type: "text", text: read.value };
  }

  /** Whether a text whose JSON has so many characters must be more than an honest guest sends; it is counted then, and need not be read. */
  refuse(jsonLength: number): boolean {
    const least = Math.ceil((jsonLength - 2) / ESCAPE_LENGTH);
    if (this.#bytes + least <= this.#allowedBytes) return false;
    this.#bytes += least;
    return true;
  }

  add(text: string, dropped: number): void {
    const mark = dropped > 0 ? `… ${dropped} ${dropped === 1 ? "line" : "lines"} left out …\n` : "";
    // An honest guest sends no empty text, which would cost nothing.
    this.#bytes += Buffer.byteLength(mark) + Buffer.byteLength(text) || 1;
    if (!Number.isSafeInteger(this.#lines + dropped)) this.#bytes = Number.MAX_SAFE_INTEGER;
    if (this.overflowed) return;
    this.#parts.push(mark, text);
    this.#dropped += dropped;
    this.#lines += dropped + text.split("\n").length - 1;
  }

  get logs(): Logs {
    const text = this.#parts.join("");
    return { text, lines: this.#lines, bytes: Buffer.byteLength(text), dropped: this.#dropped };
  }
}
