import { after, cancel, clearImmediate, setImmediate, sumOf, type Timer } from "../../base/index.ts";
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

/**
 * The items of a stream that have not left yet. The last one may be more than the batch has room for. `onLate` is called
 * when the batch has waited long enough for more items.
 */
export function nextBatch(resultBytes: number, isFirst: boolean, onLate: () => void) {
  const maxBytes = Math.min(BATCH_BYTES, resultBytes);
  const patience = patienceFor(onLate);
  let items: ItemText[] = [];
  let bytes = 0;

  function add(item: ItemText): void {
    bytes += item.bytes + 1;
    if (items.push(item) === 1) patience.begin(isFirst);
  }

  /** Drops what has not left. Returns the memory that is held for it. */
  function drop(): number {
    patience.end();
    const held = sumOf(items, ({ heldBytes }) => heldBytes);
    items = [];
    bytes = 0;
    return held;
  }

  return {
    get count(): number {
      return items.length;
    },

    /** UTF-8 bytes of the items, each with the comma or the bracket after it. */
    get bytes(): number {
      return bytes;
    },

    /** Whether it has waited long enough for more items, or has no room for one. */
    get isFull(): boolean {
      return patience.isOver || items.length >= (isFirst ? FIRST_ITEMS : BATCH_ITEMS) || bytes >= maxBytes;
    },

    add,

    /** The batch that leaves. An item that had no room in it is the first of the next one. */
    take(): Batch {
      const spare = items.length > 1 && bytes > maxBytes ? items.pop() : undefined;
      const batch = items;
      isFirst = false;
      drop();
      if (spare) add(spare);
      return batchOf(batch);
    },

    drop,
  };
}

/** Whether a batch has waited long enough since it was begun: the first one for what is there at once. */
function patienceFor(onLate: () => void) {
  let timer: Timer | NodeJS.Immediate | undefined;
  let isOver = false;
  const late = () => {
    timer = undefined;
    isOver = true;
    onLate();
  };
  return {
    get isOver(): boolean {
      return isOver;
    },

    begin(isFirst: boolean): void {
      timer = isFirst ? setImmediate(late) : after(BATCH_MS, late);
    },

    end(): void {
      cancel(timer as Timer);
      clearImmediate(timer as NodeJS.Immediate);
      timer = undefined;
      isOver = false;
    },
  };
}

function batchOf(items: readonly ItemText[]): Batch {
  return {
    body: `[${items.map(({ text }) => text).join(",")}]`,
    count: items.length,
    bytes: sumOf(items, ({ bytes }) => bytes + 1),
    values: sumOf(items, ({ values }) => values),
    heldBytes: sumOf(items, ({ heldBytes }) => heldBytes),
  };
}

export type NextBatch = ReturnType<typeof nextBatch>;
