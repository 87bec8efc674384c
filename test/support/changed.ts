import * as fc from "fast-check";

/** A change at some place of a JSON value. */
export interface Change {
  readonly place: number;
  readonly kind: "set" | "delete" | "repeat" | "exchange";
  readonly value: unknown;
  /** The place with which it is exchanged. */
  readonly other?: number;
}

/** What is too deep to be looked through, once it was put in. */
export const DEEP = JSON.parse(`${"[".repeat(5000)}${"]".repeat(5000)}`) as unknown;
const KINDS = ["set", "delete", "repeat", "exchange"] as const;
const VALUES: readonly unknown[] = [null, true, 0, -1, 0.5, 1e308, "", " ", "x", "__proto__", [], {}, [null], [[]]];
const OBJECTS: readonly unknown[] = [{ type: "text" }, { toString: [] }];

/** A change to another value, also to one of these, or to a missing, repeated or exchanged part. */
export function changes(...more: readonly unknown[]): fc.Arbitrary<Change> {
  const value = fc.oneof(fc.constantFrom<unknown>(...VALUES, ...OBJECTS, ...more), fc.jsonValue({ maxDepth: 2 }));
  return fc.record({ place: fc.nat(), kind: fc.constantFrom(...KINDS), value, other: fc.nat() });
}

interface Place {
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly holder: any;
  readonly key: string;
}

/** Every place in a JSON value, as its container and key. */
export function placesIn(value: unknown): readonly Place[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [{ holder: value, key }, ...placesIn(inner)]);
}

/** A JSON value with these changes. */
export function changed(whole: unknown, all: readonly Change[]): unknown {
  let copy: unknown = structuredClone(whole);
  for (const { place, kind, value, other = 0 } of all) {
    const places = placesIn(copy);
    const [at, from] = [places[place % places.length], places[other % places.length]];
    if (!at || !from) return value;
    const { holder, key } = at;
    if (kind === "set") holder[key] = value;
    else if (kind === "exchange") holder[key] = structuredClone(from.holder[from.key]);
    else if (Array.isArray(holder))
      holder.splice(Number(key), kind === "delete" ? 1 : 0, ...(kind === "delete" ? [] : [holder[Number(key)]]));
    else if (kind === "delete") delete holder[key];
    if (value === DEEP && kind === "set") break;
    copy = structuredClone(copy);
  }
  return copy;
}

/** A JSON value with a few changes at random places. */
export const mutated = (value: unknown): fc.Arbitrary<unknown> =>
  fc.array(changes(), { minLength: 1, maxLength: 3 }).map((all) => changed(value, all));
