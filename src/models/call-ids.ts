/** Longest id that is taken over from a provider. */
const LONGEST = 128;

/**
 * Gives every call of a conversation an id of its own. A provider's is used where it can be; servers that repeat ids,
 * or leave them out, get answers by their own all the same, for the adapter keeps those.
 */
export class CallIds {
  readonly #used = new Set<string>();

  take(provided: string | undefined): string {
    const usable = provided !== undefined && provided.length <= LONGEST && /^[\w.:-]+$/.test(provided);
    const stem = usable ? provided : "call";
    let id = usable ? stem : `${stem}-${this.#used.size + 1}`;
    for (let repeated = 2; this.#used.has(id); repeated += 1) id = `${stem}-${repeated}`;
    this.#used.add(id);
    return id;
  }
}
