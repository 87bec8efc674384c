/** Longest id that is taken over from a provider. */
const LONGEST = 128;

/** Gives out ids of which no two are the same. */
export class UniqueIds {
  readonly #used = new Set<string>();
  /** How often each was asked for, so that a reply full of one id is not searched through for each of them. */
  readonly #times = new Map<string, number>();

  get size(): number {
    return this.#used.size;
  }

  take(wanted: string): string {
    let times = this.#times.get(wanted) ?? 0;
    let id = wanted;
    do {
      times += 1;
      if (times > 1) id = `${wanted}-${times}`;
    } while (this.#used.has(id));
    this.#times.set(wanted, times);
    this.#used.add(id);
    return id;
  }
}

/**
 * Gives every call of a conversation an id of its own. A provider's is used where it can be; servers that repeat ids,
 * or leave them out, get answers by their own all the same, for the adapter keeps those.
 */
export class CallIds {
  readonly #ids = new UniqueIds();

  take(provided: string | undefined): string {
    const usable = provided !== undefined && provided.length <= LONGEST && /^[\w.:-]+$/.test(provided);
    return this.#ids.take(usable ? provided : `call-${this.#ids.size + 1}`);
  }
}
