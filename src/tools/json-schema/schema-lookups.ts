import type { JsonSchema } from "./json-schema.ts";
import type { SchemaNode } from "./compile-schema.ts";
import { type Steps, StepsSpent } from "./steps.ts";

/** Maximum depth of references, alternatives and intersections that apply to one value. */
export const MAX_DEPTH = 1000;

/** The parts of a schema node in the form that look-ups by a field's name need. */
export interface Lookup {
  readonly properties: ReadonlyMap<string, SchemaNode>;
  readonly required: ReadonlySet<unknown>;
  /** Fields that have one of a few scalar values, by which alternatives are told apart. */
  readonly tags: ReadonlyMap<string, ReadonlySet<unknown>>;
}

/** The look-ups of a schema's nodes, each made when it is first needed. */
export class SchemaLookups {
  readonly #lookups = new Map<SchemaNode, Lookup>();

  /** Takes a step per field when a look-up is made. Throws a `StepsSpent` beyond `MAX_DEPTH`. */
  of(node: SchemaNode, steps: Steps, depth = 0): Lookup {
    const known = this.#lookups.get(node);
    if (known) return known;
    if (depth > MAX_DEPTH) throw new StepsSpent();
    const { required } = node.schema as JsonSchema;
    const lookup = {
      properties: new Map(node.maps.properties),
      required: new Set(Array.isArray(required) ? required : []),
      tags: this.#tagsOf(node, steps, depth),
    };
    this.#lookups.set(node, lookup);
    return lookup;
  }

  #tagsOf({ maps, ref, lists }: SchemaNode, steps: Steps, depth: number): Lookup["tags"] {
    const tags = new Map<string, ReadonlySet<unknown>>();
    for (const other of [...(ref ? [ref] : []), ...(lists.allOf ?? [])])
      for (const [key, values] of this.of(other, steps, depth + 1).tags) {
        steps.spend(1);
        tags.set(key, values);
      }
    for (const [key, property] of maps.properties ?? []) {
      steps.spend(1);
      const values = tagValues(property, 0);
      if (values) tags.set(key, values);
    }
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
