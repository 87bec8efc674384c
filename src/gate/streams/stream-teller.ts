import { NEWS_MS, type Streamed, StreamNews } from "./stream-news.ts";

/** Calls a listener when it is to be told how far a stream is. */
export class StreamTeller {
  readonly #news: StreamNews;
  readonly #given: () => Streamed;
  readonly #onNews: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `items`: what the listener knows before. */
  constructor(items: number | undefined, given: () => Streamed, onNews: (() => void) | undefined) {
    this.#news = new StreamNews(items);
    this.#given = given;
    this.#onNews = onNews;
  }

  /** More was given: tells it now, or soon if the listener was told of the stream a moment ago. */
  tell(): void {
    const { items } = this.#given();
    if (!this.#onNews || this.#news.knows(items)) return;
    if (this.#news.take(items, performance.now())) this.#onNews();
    else
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.tell();
      }, NEWS_MS);
  }

  /** What was given, if the listener was not told of all of it. It is taken to be told now. */
  takeLast(): Streamed | undefined {
    const given = this.#given();
    return this.#news.take(given.items, "end") ? given : undefined;
  }

  /** Tells nothing more by itself. */
  end(): void {
    clearTimeout(this.#timer);
  }
}
