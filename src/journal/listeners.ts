import { queueMicrotask } from "../base/index.ts";
import type { Appended } from "./journal.ts";

export type AppendListener = (appended: Appended) => void;

export class AppendListeners {
  readonly #listeners = new Set<{ readonly listener: AppendListener }>();
  readonly #onFirst: () => void;
  readonly #onLast: () => void;

  /** `onFirst` is called when the first listener comes, `onLast` when the last one has gone. */
  constructor(onFirst: () => void = () => {}, onLast: () => void = () => {}) {
    this.#onFirst = onFirst;
    this.#onLast = onLast;
  }

  add(listener: AppendListener): Disposable {
    const entry = { listener };
    this.#listeners.add(entry);
    if (this.#listeners.size === 1) this.#onFirst();
    return {
      [Symbol.dispose]: () => {
        if (this.#listeners.delete(entry) && this.#listeners.size === 0) this.#onLast();
      },
    };
  }

  /** The listeners are called after the work under way: what they throw must not fail an append that is done. */
  tell(appended: Appended): void {
    for (const entry of this.#listeners)
      queueMicrotask(() => {
        if (this.#listeners.has(entry)) entry.listener(appended);
      });
  }
}
