import type { SchemaNode } from "./compile-schema.ts";
import { type Steps, StepsSpent } from "./steps.ts";

/** Maximum depth of references, alternatives and intersections that apply to one value. */
export const MAX_DEPTH = 1000;

/** Fields that have one of a few scalar values, by which alternatives are told apart. */
type TagValues = ReadonlyMap<string, ReadonlySet<unknown>>;

const known = new WeakMap<SchemaNode, TagValues>();

/** The tags of a node. Takes a step per field when they are first needed. Throws a `StepsSpent` beyond `MAX_DEPTH`. */
export function tagsOf(node: SchemaNode, steps: Steps, depth = 0): TagValues {
  const before = known.get(node);
  if (before) return before;
  if (depth > MAX_DEPTH) throw new StepsSpent();
  const { maps, ref, lists } = node;
  const tags = new Map<string, ReadonlySet<unknown>>();
  for (const other of [...(ref ? [ref] : []), ...(lists.allOf ?? [])])
    for (const [key, values] of tagsOf(other, steps, depth + 1)) {
      steps.spend(1);
      tags.set(key, values);
    }
  for (const [key, property] of maps.properties ?? []) {
    steps.spend(1);
    const values = tagValues(property, 0);
    if (values) tags.set(key, values);
  }
  known.set(node, tags);
  return tags;
}

/** The scalars that a field can be, if its schema lists them. */
function tagValues({ schema, enumeration, ref }: SchemaNode, depth: number): ReadonlySet<unknown> | undefined {
  if (depth > MAX_DEPTH) throw new StepsSpent();
  if (typeof schema === "boolean") return undefined;
  if ("const" in schema) return new Set([schema.const]);
  if (enumeration) return enumeration.scalars;
  return ref ? tagValues(ref, depth + 1) : undefined;
}
