import { after, cancel, monotonic, type Timer } from "../../base/index.ts";
import { NEWS_MS, type Streamed, StreamNews } from "./stream-news.ts";

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
