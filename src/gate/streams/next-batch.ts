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

/** An item as JSON text. */
export interface ItemText {
  readonly text: string;
  /** UTF-8 bytes of the text. */
  readonly bytes: number;
  /** Number of values that the item holds, or an upper bound of it. */
  readonly values: number;
  /** Memory that the call's share holds for it. */
  readonly heldBytes: number;
}

/** The items of a stream that have not left yet. */
export class NextBatch {
  readonly #maxBytes: number;
  readonly #onLate: () => void;
  #items = noItems();
  /** An item that did not fit into the batch. */
  #spare: ItemText | undefined;
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
    return this.#items.texts.length;
  }

  /** UTF-8 bytes of the items, each with the comma or the bracket after it. */
  get bytes(): number {
    return this.#items.bytes;
  }

  /** Whether it has waited long enough for more items, or has no room for one. */
  get isFull(): boolean {
    return (
      this.#isLate ||
      this.#spare !== undefined ||
      this.count >= (this.#isFirst ? FIRST_ITEMS : BATCH_ITEMS) ||
      this.bytes >= this.#maxBytes
    );
  }

  add(item: ItemText): void {
    if (this.count > 0 && this.bytes + item.bytes + 1 > this.#maxBytes) this.#spare = item;
    else this.#put(item);
  }

  /** The batch that leaves. An item that had no room in it is the first of the next one. */
  take(): Batch {
    const { texts, bytes, values, heldBytes } = this.#items;
    this.#stopTimer();
    this.#items = noItems();
    this.#isFirst = false;
    this.#isLate = false;
    const spare = this.#spare;
    this.#spare = undefined;
    if (spare) this.#put(spare);
    return { body: `[${texts.join(",")}]`, count: texts.length, bytes, values, heldBytes };
  }

  /** Drops what has not left. Returns the memory that is held for it. */
  drop(): number {
    this.#stopTimer();
    const { heldBytes } = this.#items;
    const spareBytes = this.#spare?.heldBytes ?? 0;
    this.#items = noItems();
    this.#spare = undefined;
    return heldBytes + spareBytes;
  }

  #put({ text, bytes, values, heldBytes }: ItemText): void {
    const items = this.#items;
    items.texts.push(text);
    items.bytes += bytes + 1;
    items.values += values;
    items.heldBytes += heldBytes;
    if (items.texts.length === 1) this.#startTimer();
  }

  #startTimer(): void {
    const late = () => {
      this.#timer = undefined;
      this.#isLate = true;
      this.#onLate();
    };
    this.#timer = this.#isFirst ? setImmediate(late) : after(BATCH_MS, late);
  }

  #stopTimer(): void {
    cancel(this.#timer as Timer);
    clearImmediate(this.#timer as NodeJS.Immediate);
    this.#timer = undefined;
  }
}

function noItems() {
  return { texts: [] as string[], bytes: 0, values: 0, heldBytes: 0 };
}
