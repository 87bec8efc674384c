import { Counts } from "../../base/index.ts";

/** Memory of answers and of what running handlers were given, in bytes, above which no further result becomes text and no further handler starts. */
const UNREAD_BYTES = 16 * 1024 * 1024;

/**
 * Bounds the answers of a session that its program has not read. A program that computes, or a guest that reads
 * nothing, would else have the host hold the inputs and the results of all its calls. One of them may exceed the bound,
 * because a single value may be larger.
 */
export class UnreadAnswers {
  readonly #allowed: number;
  readonly #unread = new Counts();
  readonly #inputs = new Counts();
  #isMaking = false;
  #closed = false;
  /** Wakes all waiters. Each of them checks again whether it may go on. */
  #change: PromiseWithResolvers<void> | undefined;

  constructor(allowedBytes = UNREAD_BYTES) {
    this.#allowed = allowedBytes;
  }

  get bytes(): number {
    return this.#unread.all;
  }

  /**
   * Resolves when a handler may start that is given so many bytes, which count until `end`; undefined if it may now,
   * because this is asked for every call.
   */
  begin(callId: string, bytes: number): Promise<void> | undefined {
    if (this.#isFull) return this.whenRoom()?.then(() => this.begin(callId, bytes));
    this.#inputs.add(callId, bytes);
    return undefined;
  }

  /** The call has ended, if its handler has started at all. */
  end(callId: string): void {
    const bytes = this.#inputs.of(callId);
    if (bytes === 0) return;
    this.#inputs.add(callId, -bytes);
    this.#wake();
  }

  /** Resolves when a batch may be given; undefined if it may now. */
  whenRoom(): Promise<void> | undefined {
    return this.#isFull ? this.#changed().then(() => this.whenRoom()) : undefined;
  }

  /**
   * Makes the answer of a large result when there is room for it. Large answers are made one at a time, because the
   * size of a result is known only once it is text. `make` adds the answer.
   */
  async makeLarge<Value>(make: () => Value | Promise<Value>): Promise<Value> {
    while (this.#isFull || this.#isMaking) await this.#changed();
    this.#isMaking = true;
    try {
      return await make();
    } finally {
      this.#isMaking = false;
      this.#wake();
    }
  }

  /** Adds an answer of a call. A stream has several that are unread, and each counts. */
  add(callId: string, bytes: number): void {
    this.#unread.add(callId, bytes);
  }

  /** The program has read a call's answer, or so many bytes of it. Returns its bytes. */
  remove(callId: string, read = Infinity): number {
    const bytes = Math.min(read, this.#unread.of(callId));
    this.#unread.add(callId, -bytes);
    if (bytes > 0) this.#wake();
    return bytes;
  }

  /** The session has closed: nothing waits any more. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  get #isFull(): boolean {
    return this.#unread.all + this.#inputs.all >= this.#allowed && !this.#closed;
  }

  #changed(): Promise<void> {
    return (this.#change ??= Promise.withResolvers()).promise;
  }

  #wake(): void {
    this.#change?.resolve();
    this.#change = undefined;
  }
}
