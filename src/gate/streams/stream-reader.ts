import type { Failure, HandlerAnswer } from "../answer.ts";

export interface StreamProgress {
  /** Items that were given, and the bytes of their JSON. */
  readonly items: number;
  readonly bytes: number;
}

/** Shortest time between two events that tell how far one stream is, in milliseconds. */
export const NEWS_MS = 250;

/** Decides which batches of a stream its listeners are told of. A fast stream has hundreds of batches a second. */
export class StreamNews {
  #items: number;
  #toldAt = -Infinity;

  /** `items`: what listeners know before. */
  constructor(items = 0) {
    this.#items = items;
  }

  knows(items: number): boolean {
    return items === this.#items;
  }

  /** Whether listeners are to be told now that so many items were given. At the stream's end they are told what they do not know. */
  take(items: number, now: number | "end"): boolean {
    if (this.knows(items)) return false;
    if (now !== "end" && now - this.#toldAt < NEWS_MS) return false;
    this.#items = items;
    if (now !== "end") this.#toldAt = now;
    return true;
  }
}

export interface Batch {
  readonly body: string;
  readonly count: number;
  /** UTF-8 bytes of the items, each with the comma or the bracket after it: their sum does not depend on the batches. */
  readonly bytes: number;
  /** Number of values that the items hold, or an upper bound of it. */
  readonly values: number;
  /** Memory that the call's share holds for it. The reader gives it back. */
  readonly heldBytes: number;
}

/**
 * What a caller that reads streams passes with a call. It is given the first batch. `more` says that it has begun to read a
 * batch: from then on two batches at most have left that it has not begun.
 */
export interface StreamReader {
  readonly take: (batch: Batch) => void;
  /** What the caller was handed so far, also by earlier drivers. Batches that wait for the caller are not in it. */
  readonly handed: StreamProgress;
}

/** A stream, as its reader sees it. */
export interface OpenStream {
  /** What has left, also by earlier drivers. */
  readonly progress: StreamProgress;
  /** The caller was handed a batch that had left. */
  readonly tell: () => void;
  /** What a call ended with, if listeners were not told of all of it. They are taken to be told now. */
  readonly takeLastNews: (ended: StreamProgress) => StreamProgress | undefined;
  /** The reader can take one batch more. */
  readonly more: () => void;
  /** The reader reads no more. Returns how the call ends with that; undefined if the stream has ended. */
  readonly stop: () => HandlerAnswer | undefined;
  /** Ends the stream with a failure at once. For a reader that cannot take what it is given. */
  readonly fail: (answer: Failure) => void;
}

/** How a call ends whose stream has given this, to its end or until its reader had enough. */
export function streamEnded({ items, bytes }: StreamProgress, isComplete: boolean): HandlerAnswer {
  return { answer: { ok: true, text: "null", bytes, items }, shape: shapeOfStream(items, isComplete) };
}

export function shapeOfStream(items: number, isComplete: boolean): string {
  return `stream of ${items}${isComplete ? "" : ", not read to its end"}`;
}
