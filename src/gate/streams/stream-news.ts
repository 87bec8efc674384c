import { after, cancel, monotonic, type Timer } from "../../base/index.ts";

/** How far a stream is. */
export interface Streamed {
  /** Items that were given, and the bytes of their JSON. */
  readonly items: number;
  readonly bytes: number;
}

/** Shortest time between two events that tell how far one stream is, in milliseconds. */
const NEWS_MS = 250;

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

/** Calls a listener when it is to be told how far a stream is. */
export class StreamTeller {
  readonly #news: StreamNews;
  readonly #handed: () => Streamed;
  readonly #onNews: (() => void) | undefined;
  #timer: Timer | undefined;

  /** `items`: what the listener knows before. */
  constructor(items: number | undefined, handed: () => Streamed, onNews: (() => void) | undefined) {
    this.#news = new StreamNews(items);
    this.#handed = handed;
    this.#onNews = onNews;
  }

  /** More was handed over: tells it now, or soon if the listener was told of the stream a moment ago. */
  tell(): void {
    const { items } = this.#handed();
    if (!this.#onNews || this.#news.knows(items)) return;
    if (this.#news.take(items, monotonic())) this.#onNews();
    else
      this.#timer ??= after(NEWS_MS, () => {
        this.#timer = undefined;
        this.tell();
      });
  }

  /** What a stream ended with, if the listener was not told of all of it. It is taken to be told now. */
  takeLast(ended: Streamed): Streamed | undefined {
    return this.#news.take(ended.items, "end") ? ended : undefined;
  }

  /** Tells nothing more by itself. */
  end(): void {
    cancel(this.#timer);
  }
}
