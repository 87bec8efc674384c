import type { Principal } from "./principal.ts";

/** Counts the executions of principals that run, whatever door they came by. */
export class AtOnce {
  readonly #running = new Map<string, number>();

  /** Takes a place until the function that it returns is called, once or again; undefined where all of them are taken. */
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
