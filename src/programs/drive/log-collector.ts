import type { Logs } from "../outcome.ts";
import { readPlainData } from "../../values/json/plain-data.ts";

/** An output frame as read. `overflow`: more than an honest guest sends. `malformed`: the body is not a JSON string. */
export type Printed = { readonly type: "text"; readonly text: string } | { readonly type: "overflow" | "malformed" };

const ESCAPE_LENGTH = 6;

/** Collects a guest's output. An honest guest sends at most `logBytes` from the start and `logBytes` from the end; more is detected here. */
export class LogCollector {
  readonly #allowedBytes: number;
  readonly #parts: string[] = [];
  #bytes = 0;
  #lines = 0;
  #dropped = 0;

  /** The bound is twice `logBytes`, plus room for the marks of shortened lines. */
  constructor(logBytes: number) {
    this.#allowedBytes = logBytes * 2 + 1024;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get overflowed(): boolean {
    return this.#bytes > this.#allowedBytes;
  }

  take({ body, dropped }: { readonly body: string; readonly dropped: number }): Printed {
    if (!body.startsWith('"')) return { type: "malformed" };
    if (this.refuse(body.length)) return { type: "overflow" };
    const read = readPlainData(body);
    if (!read.ok || typeof read.value !== "string") return { type: "malformed" };
    this.add(read.value, dropped);
    return this.overflowed ? { type: "overflow" } : { type: "text", text: read.value };
  }

  /** Whether a text whose JSON has this length must exceed the bound. If so it is counted here and need not be parsed. */
  refuse(jsonLength: number): boolean {
    const minBytes = Math.ceil((jsonLength - 2) / ESCAPE_LENGTH);
    if (this.#bytes + minBytes <= this.#allowedBytes) return false;
    this.#bytes += minBytes;
    return true;
  }

  add(text: string, dropped: number): void {
    const mark = dropped > 0 ? `… ${dropped} ${dropped === 1 ? "line" : "lines"} left out …\n` : "";
    // An honest guest sends no empty text. It counts as one byte, so that a guest cannot send it without end.
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
