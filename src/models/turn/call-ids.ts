import { quickKey } from "../../base/index.ts";

const MAX_LENGTH = 128;

/** Makes ids unique by a suffix. A provider chooses them, and how long they are. */
export class UniqueIds {
  readonly used = new Set<unknown>();
  /** How often each id was requested, so that many equal ids do not take quadratic time. */
  readonly #times = new Map<unknown, number>();

  take(wanted: string): string {
    let times = this.#times.get(quickKey(wanted)) ?? 0;
    let id = wanted;
    do {
      times += 1;
      if (times > 1) id = `${wanted}-${times}`;
    } while (this.used.has(quickKey(id)));
    this.#times.set(quickKey(wanted), times);
    this.used.add(quickKey(id));
    return id;
  }
}

/** Gives every call a unique id: the provider's if it is well-formed and new. Its result has the provider's own id. */
export class CallIds {
  readonly #ids = new UniqueIds();

  take(provided: string | undefined): string {
    const usable = provided !== undefined && provided.length <= MAX_LENGTH && /^[\w.:-]+$/.test(provided);
    return this.#ids.take(usable ? provided : `call-${this.#ids.used.size + 1}`);
  }
}
