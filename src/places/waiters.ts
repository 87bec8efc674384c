interface Waiter {
  readonly resolve: () => void;
  readonly leave: () => void;
}

/** Those that wait for their turn, in order of arrival. One whose signal is aborted leaves, and rejects with the reason. */
export class Waiters {
  readonly #all = new Set<Waiter>();

  get count(): number {
    return this.#all.size;
  }

  wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#all.delete(waiter);
        reject(signal.reason as Error);
      };
      const waiter = { resolve, leave };
      this.#all.add(waiter);
      signal.addEventListener("abort", leave, { once: true });
      waiter.resolve = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
    });
  }

  /** The first goes on. */
  next(): void {
    for (const waiter of this.#all) {
      this.#all.delete(waiter);
      waiter.resolve();
      return;
    }
  }
}
