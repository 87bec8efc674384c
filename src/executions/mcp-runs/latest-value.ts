/** Hands values from a producer to a slower consumer, which gets only the latest value: values do not accumulate. */
export class LatestValue<Value> {
  #value: { readonly value: Value } | undefined;
  #ended = false;
  #wake = (): void => {};

  set(value: Value): void {
    this.#value = { value };
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Value, void> {
    for (;;) {
      const next = this.#value;
      this.#value = undefined;
      if (next) yield next.value;
      else if (this.#ended) return;
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await promise;
      }
    }
  }
}
