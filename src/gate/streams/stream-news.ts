/** How far a stream is. */
export interface Streamed {
  /** Items that were given, and the bytes of their JSON. */
  readonly items: number;
  readonly bytes: number;
}

/** Shortest time between two events that tell how far one stream is, in milliseconds. */
export const NEWS_MS = 250;

/** Decides which batches of a stream its listeners are told of. A fast stream has hundreds of batches a second. */
export class StreamNews {
  #items: number;
  #toldAt = Number.NEGATIVE_INFINITY;

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
