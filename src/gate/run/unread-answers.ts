import { Counts } from "../../base/index.ts";

/** Memory of answers and of what running handlers were given, in bytes, above which no further result becomes text and no further handler starts. */
const UNREAD_BYTES = 16 * 1024 * 1024;

/**
 * Bounds the answers of a session that its program has not read. A program that computes, or a guest that reads
 * nothing, would else have the host hold the inputs and the results of all its calls. One of them may exceed the bound,
 * because a single value may be larger.
 */
export function unreadAnswers(allowed = UNREAD_BYTES) {
  const unread = new Counts();
  const inputs = new Counts();
  let isMaking = false;
  let closed = false;
  /** Wakes all waiters. Each of them checks again whether it may go on. */
  let change: PromiseWithResolvers<void> | undefined;

  /**
   * Resolves when a handler may start that is given so many bytes, which count until `end`; undefined if it may now,
   * because this is asked for every call.
   */
  function begin(callId: string, bytes: number): Promise<void> | undefined {
    if (isFull()) return whenRoom()?.then(() => begin(callId, bytes));
    inputs.add(callId, bytes);
    return undefined;
  }

  /** Resolves when a batch may be given; undefined if it may now. */
  function whenRoom(): Promise<void> | undefined {
    return isFull() ? changed().then(whenRoom) : undefined;
  }

  function isFull(): boolean {
    return unread.all + inputs.all >= allowed && !closed;
  }

  const mustWait = () => isMaking || isFull();

  function changed(): Promise<void> {
    return (change ??= Promise.withResolvers()).promise;
  }

  function wake(): void {
    change?.resolve();
    change = undefined;
  }

  return {
    get bytes(): number {
      return unread.all;
    },
    begin,

    /** The call has ended, if its handler has started at all. */
    end(callId: string): void {
      const bytes = inputs.of(callId);
      if (bytes === 0) return;
      inputs.add(callId, -bytes);
      wake();
    },
    whenRoom,

    /**
     * Makes the answer of a large result when there is room for it. Large answers are made one at a time, because the
     * size of a result is known only once it is text. `make` adds the answer.
     */
    async makeLarge<Value>(make: () => Value | Promise<Value>): Promise<Value> {
      while (mustWait()) await changed();
      isMaking = true;
      try {
        return await make();
      } finally {
        isMaking = false;
        wake();
      }
    },

    /** Adds an answer of a call. A stream has several that are unread, and each counts. */
    add(callId: string, bytes: number): void {
      unread.add(callId, bytes);
    },

    /** The program has read a call's answer, or so many bytes of it. Returns its bytes. */
    remove(callId: string, read = Infinity): number {
      const bytes = Math.min(read, unread.of(callId));
      unread.add(callId, -bytes);
      if (bytes > 0) wake();
      return bytes;
    },

    /** The session has closed: nothing waits any more. */
    close(): void {
      closed = true;
      wake();
    },
  };
}

export type UnreadAnswers = ReturnType<typeof unreadAnswers>;
