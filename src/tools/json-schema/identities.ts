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
export function identities(steps: Steps) {
  const scalars = new Map<unknown, number>();
  const texts = new Map<unknown, number>();
  const containers = new Map<object, number>();

  const of = (value: unknown): number => {
    steps.spend(1);
    if (!isAnyObject(value)) return numberOf(scalars, costedKey(value, steps)) * 2;
    const hit = containers.get(value);
    if (hit !== undefined) return hit;
    const identity = numberOf(texts, costedKey(textOf(value), steps)) * 2 + 1;
    containers.set(value, identity);
    return identity;
  };

  /** Text that is the same for equal containers. It holds the numbers of their elements and fields. */
  const textOf = (value: object): string => {
    if (Array.isArray(value)) return `[${value.map((item) => of(item)).join()}]`;
    const fields = Object.entries(value).map(([name, field]) => `${of(name)}:${of(field)}`);
    return `{${fields.toSorted().join()}}`;
  };

  return {
    of,

    areEqual(one: unknown, other: unknown): boolean {
      if (typeof one === "string" && typeof other === "string" && one.length === other.length)
        steps.spend(one.length / CHARACTERS_A_STEP);
      return one === other || (isAnyObject(one) && isAnyObject(other) && of(one) === of(other));
    },
  };
}

function numberOf<Key>(numbers: Map<Key, number>, key: Key): number {
  const number = numbers.get(key) ?? numbers.size;
  numbers.set(key, number);
  return number;
}
