import { isAnyObject, isLongKey, quickKey } from "../../base/index.ts";
import type { Steps } from "./steps.ts";

/** Characters of a text that are hashed, or compared with another one, in the time of a step. */
const CHARACTERS_A_STEP = 64;

/** What looking for a value in a map costs: a long text is hashed each time. */
export function costedKey(value: unknown, steps: Steps): unknown {
  if (isLongKey(value)) steps.spend(value.length / CHARACTERS_A_STEP);
  return quickKey(value);
}

/** Scalars of a schema. A long text is hashed only if one of its length is among them. */
export class Scalars {
  readonly #keys: ReadonlySet<unknown>;
  readonly #lengths: ReadonlySet<number>;

  constructor(scalars: readonly unknown[]) {
    this.#keys = new Set(scalars.map(quickKey));
    this.#lengths = new Set(scalars.filter(isLongKey).map(({ length }) => length));
  }

  has(value: unknown, steps: Steps): boolean {
    return (!isLongKey(value) || this.#lengths.has(value.length)) && this.#keys.has(costedKey(value, steps));
  }
}

/** Assigns equal JSON values the same number. Reads each container once. */
export class Identities {
  readonly #steps: Steps;
  readonly #scalars = new Map<unknown, number>();
  readonly #texts = new Map<unknown, number>();
  readonly #containers = new Map<object, number>();

  constructor(steps: Steps) {
    this.#steps = steps;
  }

  areEqual(one: unknown, other: unknown): boolean {
    if (typeof one === "string" && typeof other === "string" && one.length === other.length)
      this.#steps.spend(one.length / CHARACTERS_A_STEP);
    return one === other || (isAnyObject(one) && isAnyObject(other) && this.of(one) === this.of(other));
  }

  of(value: unknown): number {
    this.#steps.spend(1);
    if (!isAnyObject(value)) return numberOf(this.#scalars, costedKey(value, this.#steps)) * 2;
    const known = this.#containers.get(value);
    if (known !== undefined) return known;
    const identity = numberOf(this.#texts, costedKey(this.#textOf(value), this.#steps)) * 2 + 1;
    this.#containers.set(value, identity);
    return identity;
  }

  /** Text that is the same for equal containers. It holds the numbers of their elements and fields. */
  #textOf(value: object): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.of(item)).join()}]`;
    const fields = Object.entries(value).map(([name, field]) => `${this.of(name)}:${this.of(field)}`);
    return `{${fields.toSorted().join()}}`;
  }
}

function numberOf<Key>(numbers: Map<Key, number>, key: Key): number {
  const number = numbers.get(key) ?? numbers.size;
  numbers.set(key, number);
  return number;
}
