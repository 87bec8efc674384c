import * as fc from "fast-check";

/** A JSON value with a few changes at random places: values of other kinds, missing, repeated and exchanged parts. */
export function mutated(value: unknown): fc.Arbitrary<unknown> {
  const change = fc.record({
    place: fc.nat(),
    how: fc.constantFrom("replace", "remove", "repeat", "exchange"),
    other: fc.nat(),
    by: fc.oneof(
      fc.constantFrom<unknown>(
        null,
        true,
        0,
        -1,
        1.5,
        "",
        " ",
        "x",
        [],
        {},
        [null],
        [[]],
        { type: "text" },
        { toString: [] },
        "__proto__",
      ),
      fc.jsonValue({ maxDepth: 2 }),
    ),
  });
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
    let whole = structuredClone(value);
    for (const { place, how, other, by } of changes) {
      const places = placesIn(whole);
      const at = places[place % places.length];
      const from = places[other % places.length];
      if (!at || !from) return by;
      if (how === "replace") at.holder[at.name] = by as never;
      else if (how === "exchange") at.holder[at.name] = structuredClone(from.holder[from.name]) as never;
      else if (Array.isArray(at.holder))
        at.holder.splice(
          Number(at.name),
          how === "remove" ? 1 : 0,
          ...(how === "remove" ? [] : [at.holder[Number(at.name)]]),
        );
      else if (how === "remove") delete at.holder[at.name];
      whole = structuredClone(whole);
    }
    return whole;
  });
}

interface Place {
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly holder: any;
  readonly name: string;
}

function placesIn(value: unknown): readonly Place[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((name): readonly Place[] => [
    { holder: value, name },
    ...placesIn((value as Record<string, unknown>)[name]),
  ]);
}
