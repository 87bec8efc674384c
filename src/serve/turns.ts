/** Lets requests have a conversation one after the other. Each ends its turn by the function that it was given, once or more often. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Whether a request has a conversation, or waits for it. */
  isTaken(conversation: string): boolean {
    return this.#last.has(conversation);
  }

  /** Resolves when it is the turn of this request, with the function that ends it. */
  async take(conversation: string): Promise<() => void> {
    const before = this.#last.get(conversation);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last.set(conversation, promise);
    await before;
    return () => {
      if (this.#last.get(conversation) === promise) this.#last.delete(conversation);
      resolve();
    };
  }
}
