/** Wakes all that wait for a change, again and again. */
export class Bell {
  #next = Promise.withResolvers<void>();

  /** Resolves when it rings next. */
  get rung(): Promise<void> {
    return this.#next.promise;
  }

  ring(): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve();
  }
}
