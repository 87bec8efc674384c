/** How much each key has of something: places, requests, bytes. */
export class Counts {
  /** Only keys that have any. */
  readonly #byKey = new Map<string, number>();
  #all = 0;

  get all(): number {
    return this.#all;
  }

  get byKey(): ReadonlyMap<string, number> {
    return this.#byKey;
  }

  of(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }

  add(key: string, more: number): void {
    const count = this.of(key) + more;
    if (count === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, count);
    this.#all += more;
  }

  /**
   * Takes so much for a key. Returns the function that gives it back, which may be called twice; undefined if the key would
   * have more than `most`.
   */
  take(key: string, amount: number, most = Infinity): (() => void) | undefined {
    if (this.of(key) + amount > most) return undefined;
    this.add(key, amount);
    let isTaken = true;
    return () => {
      if (isTaken) this.add(key, -amount);
      isTaken = false;
    };
  }
}

/** The sum of what `of` gives for each. */
export function sumOf<One>(all: Iterable<One>, of: (one: One) => number): number {
  let sum = 0;
  for (const one of all) sum += of(one);
  return sum;
}
