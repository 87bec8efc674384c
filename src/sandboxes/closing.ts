/**
 * Tells programs that wait without a guest that their sandbox is closed. An `AbortSignal` looks through all its listeners
 * for each new one, and thousands of programs listen.
 */
export class Closing {
  readonly #listeners = new Set<() => void>();
  isOver = false;

  /** Calls the listener once the sandbox is closed, unless it is forgotten before. */
  listen(listener: () => void): void {
    this.#listeners.add(listener);
  }

  forget(listener: () => void): void {
    this.#listeners.delete(listener);
  }

  close(): void {
    this.isOver = true;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }
}
