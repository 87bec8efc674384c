export type Turns = ReturnType<typeof newTurns>;

/** Lets requests have a conversation one after the other. Each ends its turn by the function that it was given, once or more often. */
export function newTurns() {
  const last = new Map<string, Promise<void>>();
  return {
    /** Whether a request has a conversation, or waits for it. */
    isTaken: (conversation: string) => last.has(conversation),
    /** Resolves when it is the turn of this request, with the function that ends it. */
    async take(conversation: string): Promise<() => void> {
      const before = last.get(conversation);
      const { promise, resolve } = Promise.withResolvers<void>();
      last.set(conversation, promise);
      await before;
      return () => {
        if (last.get(conversation) === promise) last.delete(conversation);
        resolve();
      };
    },
  };
}
