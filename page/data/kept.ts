/** Characters of all that is kept together. */
const ROOM = 48 * 1024 * 1024;

/** What was asked for and cannot change, by its name, for as long as the page is open. The oldest goes first. */
export class Kept<Value> {
  readonly #values = new Map<string, { readonly value: Value; readonly length: number }>();
  readonly #room: number;
  #length = 0;

  constructor(room = ROOM) {
    this.#room = room;
  }

  get(name: string): Value | undefined {
    return this.#values.get(name)?.value;
  }

  /** `length`: characters that it takes. */
  keep(name: string, value: Value, length: number): void {
    this.#drop(name);
    if (length > this.#room) return;
    this.#values.set(name, { value, length });
    this.#length += length;
    for (const oldest of this.#values.keys()) {
      if (this.#length <= this.#room) return;
      this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    this.#length -= this.#values.get(name)?.length ?? 0;
    this.#values.delete(name);
  }
}
