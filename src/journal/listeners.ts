import { ignore, queueMicrotask } from "../base/index.ts";

/** Who is told of something, like the appends of a store. */
export class Listeners<Told> {
  readonly #listeners = new Set<{ readonly listener: (told: Told) => void }>();
  readonly #onFirst: () => void;
  readonly #onLast: () => void;

  /** `onFirst` is called when the first listener comes, `onLast` when the last one has gone. */
  constructor(onFirst: () => void = ignore, onLast: () => void = ignore) {
    this.#onFirst = onFirst;
    this.#onLast = onLast;
  }

  add(listener: (told: Told) => void): Disposable {
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
  tell(told: Told): void {
    for (const entry of this.#listeners)
      queueMicrotask(() => {
        if (this.#listeners.has(entry)) entry.listener(told);
      });
  }
}
