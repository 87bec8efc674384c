import type { Principal } from "./principal.ts";

/** Counts the running executions of each principal, over all doors. */
export class AtOnce {
  readonly #running = new Map<string, number>();

  /**
   * Takes a place. Returns the function that releases it, which may be called twice; undefined if all places are taken.
   */
  take({ id, atOnce = Number.POSITIVE_INFINITY }: Pick<Principal, "id" | "atOnce">): (() => void) | undefined {
    const running = this.#running.get(id) ?? 0;
    if (running >= atOnce) return undefined;
    this.#running.set(id, running + 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#release(id);
      isTaken = false;
    };
  }

  #release(id: string): void {
    const left = (this.#running.get(id) ?? 0) - 1;
    if (left > 0) this.#running.set(id, left);
    else this.#running.delete(id);
  }
}
