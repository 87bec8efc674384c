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

/** Most characters that JSON needs for one. */
const ESCAPE_LENGTH = 6;

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

  /** What was sent, in characters. */
  get length(): number {
    return this.#length;
  }

  /** Whether more was sent than an honest guest sends. */
  get overflowed(): boolean {
    return this.#length > this.#allowedLength;
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
    if (this.#length + least <= this.#allowedLength) return false;
    this.#length += least;
    return true;
  }

  add(text: string, dropped: number): void {
    const mark = dropped > 0 ? `… ${dropped} ${dropped === 1 ? "line" : "lines"} left out …\n` : "";
    // Nothing printed is sent by no honest guest, and would cost nothing.
    this.#length += mark.length + text.length || 1;
    if (!Number.isSafeInteger(this.#lines + dropped)) this.#length = Number.MAX_SAFE_INTEGER;
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
