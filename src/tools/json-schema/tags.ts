import type { SchemaNode } from "./compile-schema.ts";
import { type Steps, StepsSpent } from "./steps.ts";

/** Maximum depth of references, alternatives and intersections that apply to one value. */
export const MAX_DEPTH = 1000;

/** Fields that have one of a few scalar values, by which alternatives are told apart. */
type TagValues = ReadonlyMap<string, ReadonlySet<unknown>>;

/** The tags of a schema's nodes, each found when they are first needed. */
export class Tags {
  readonly #known = new Map<SchemaNode, TagValues>();

  /** Takes a step per field when they are found. Throws a `StepsSpent` beyond `MAX_DEPTH`. */
  of(node: SchemaNode, steps: Steps, depth = 0): TagValues {
    const known = this.#known.get(node);
    if (known) return known;
    if (depth > MAX_DEPTH) throw new StepsSpent();
    const { maps, ref, lists } = node;
    const tags = new Map<string, ReadonlySet<unknown>>();
    for (const other of [...(ref ? [ref] : []), ...(lists.allOf ?? [])])
      for (const [key, values] of this.of(other, steps, depth + 1)) {
        steps.spend(1);
        tags.set(key, values);
      }
    for (const [key, property] of maps.properties ?? []) {
      steps.spend(1);
      const values = tagValues(property, 0);
      if (values) tags.set(key, values);
    }
    this.#known.set(node, tags);
    return tags;
  }
}

/** The scalars that a field can be, if its schema lists them. */
function tagValues({ schema, enumeration, ref }: SchemaNode, depth: number): ReadonlySet<unknown> | undefined {
  if (depth > MAX_DEPTH) throw new StepsSpent();
  if (typeof schema === "boolean") return undefined;
  if ("const" in schema) return new Set([schema.const]);
  if (enumeration) return enumeration.scalars;
  return ref ? tagValues(ref, depth + 1) : undefined;
}
