import { ignore, queueMicrotask } from "../base/index.ts";

/** Who is told of something, like the appends of a store. */
export class Listeners<News> {
  readonly #listeners = new Set<{ readonly listener: (event: News) => void }>();
  readonly #onFirst: () => void;
  readonly #onLast: () => void;

  /** `onFirst` is called when the first listener comes, `onLast` when the last one has gone. */
  constructor(onFirst: () => void = ignore, onLast: () => void = ignore) {
    this.#onFirst = onFirst;
    this.#onLast = onLast;
  }

  add(listener: (event: News) => void): Disposable {
    const entry = { listener };
    this.#listeners.add(entry);
    if (this.#listeners.size === 1) this.#onFirst();
    return {
      [Symbol.dispose]: () => {
        if (this.#listeners.delete(entry) && this.#listeners.size === 0) this.#onLast();
      },
    };
  }

  /** The listeners are called after the work under way: what they throw must not fail it. */
  tell(event: News): void {
    for (const entry of this.#listeners)
      queueMicrotask(() => {
        if (this.#listeners.has(entry)) entry.listener(event);
      });
  }
}
