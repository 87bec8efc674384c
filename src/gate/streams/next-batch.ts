import { after, cancel, clearImmediate, setImmediate, type Timer } from "../../base/index.ts";
import type { Batch } from "./stream-reader.ts";

/**
 * Most bytes of a batch, unless a single item has more. It fits into the buffer of the pipe to a guest that reads the batch
 * before it, and into an engine's read buffer.
 */
export const BATCH_BYTES = 120 * 1024;
export const BATCH_ITEMS = 500;
/** Most items of the first batch, so that the program has it soon and a program that needs no more costs the handler no more. */
const FIRST_ITEMS = 16;
/** How long an item waits for others of its batch, in milliseconds. The first batch waits only for what is there at once. */
const BATCH_MS = 50;

export interface ItemText {
  readonly text: string;
  readonly bytes: number;
  /** Number of values that the item holds, or an upper bound of it. */
  readonly values: number;
  /** Memory that the call's share holds for it. */
  readonly heldBytes: number;
}

/** The items of a stream that have not left yet. The last one may be more than the batch has room for. */
export class NextBatch {
  readonly #maxBytes: number;
  readonly #onLate: () => void;
  #items: ItemText[] = [];
  #bytes = 0;
  #isFirst: boolean;
  #timer: Timer | NodeJS.Immediate | undefined;
  #isLate = false;

  /** `onLate` is called when the batch has waited long enough for more items. */
  constructor(resultBytes: number, isFirst: boolean, onLate: () => void) {
    this.#maxBytes = Math.min(BATCH_BYTES, resultBytes);
    this.#isFirst = isFirst;
    this.#onLate = onLate;
  }

  get count(): number {
    return this.#items.length;
  }

  /** UTF-8 bytes of the items, each with the comma or the bracket after it. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether it has waited long enough for more items, or has no room for one. */
  get isFull(): boolean {
    const most = this.#isFirst ? FIRST_ITEMS : BATCH_ITEMS;
    return this.#isLate || this.count >= most || this.#bytes >= this.#maxBytes;
  }

  add(item: ItemText): void {
    this.#items.push(item);
    this.#bytes += item.bytes + 1;
    if (this.count > 1) return;
    const late = () => {
      this.#timer = undefined;
      this.#isLate = true;
      this.#onLate();
    };
    this.#timer = this.#isFirst ? setImmediate(late) : after(BATCH_MS, late);
  }

  /** The batch that leaves. An item that had no room in it is the first of the next one. */
  take(): Batch {
    const spare = this.count > 1 && this.#bytes > this.#maxBytes ? this.#items.pop() : undefined;
    const items = this.#items;
    this.#isFirst = false;
    this.#isLate = false;
    this.drop();
    if (spare) this.add(spare);
    const sum = (of: (item: ItemText) => number) => items.reduce((all, item) => all + of(item), 0);
    return {
      body: `[${items.map(({ text }) => text).join(",")}]`,
      count: items.length,
      bytes: sum(({ bytes }) => bytes + 1),
      values: sum(({ values }) => values),
      heldBytes: sum(({ heldBytes }) => heldBytes),
    };
  }

  /** Drops what has not left. Returns the memory that is held for it. */
  drop(): number {
    cancel(this.#timer as Timer);
    clearImmediate(this.#timer as NodeJS.Immediate);
    this.#timer = undefined;
    const held = this.#items.reduce((all, { heldBytes }) => all + heldBytes, 0);
    this.#items = [];
    this.#bytes = 0;
    return held;
  }
}
