import type { JsonSchema } from "./json-schema.ts";
import { type CompiledSchema, inPlaceOf, partsOf, type SchemaNode } from "./compile-schema.ts";

/**
 * A copy of a schema that says `additionalProperties: false` in each part that names fields and is silent about others.
 * Parts that share a value with other parts stay as they are: a closed part would refuse the fields of the others.
 */
export function closedSchema({ root }: CompiledSchema): JsonSchema {
  const parts = reach([root], partsAsserted);
  const sharing = [...parts].flatMap((node) => (partsThatShare(node) > 1 ? inPlaceOf(node) : []));
  const kept = reach(sharing, inPlaceOf);
  const tested = reach([...parts].flatMap(partsTested), partsOf);
  const toClose = new Set<unknown>();
  for (const node of parts)
    if (isSilent(node) && inPlaceOf(node).length === 0 && !kept.has(node) && !tested.has(node))
      toClose.add(node.schema);
  const copy = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(copy);
    const fields = Object.entries(value).map(([key, field]) => [key, copy(field)] as const);
    return Object.fromEntries(toClose.has(value) ? [...fields, ["additionalProperties", false]] : fields);
  };
  return copy(root.schema) as JsonSchema;
}

/** The nodes and all that they lead to. */
function reach(starts: readonly SchemaNode[], next: (node: SchemaNode) => readonly SchemaNode[]): Set<SchemaNode> {
  const reached = new Set(starts);
  for (const node of reached) for (const other of next(node)) reached.add(other);
  return reached;
}

function isSilent({ one, maps }: SchemaNode): boolean {
  return maps.properties !== undefined && !one.additionalProperties && !one.unevaluatedProperties;
}

/** Number of parts that speak about the value of a node: its own keywords, and what it refers to for the same value. */
function partsThatShare(node: SchemaNode): number {
  const { lists, maps } = node;
  const alternatives = [lists.anyOf, lists.oneOf].filter((list) => list !== undefined);
  return (
    Number(maps.properties !== undefined) +
    inPlaceOf(node).length +
    alternatives.reduce((all, list) => all - list.length + 1, 0)
  );
}

/** Parts that only test a value: if they were closed, the test would have another outcome. */
function partsTested({ one }: SchemaNode): readonly SchemaNode[] {
  return [one.not, one.if, one.contains].filter((node) => node !== undefined);
}

function partsAsserted(node: SchemaNode): readonly SchemaNode[] {
  const tested = new Set(partsTested(node));
  return partsOf(node).filter((part) => !tested.has(part));
}
