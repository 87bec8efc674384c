import { type JsonSchema, resolveReference } from "../../tools/json-schema/json-schema.ts";
import { isFields } from "../../values/fields.ts";

/** Whether a schema refers to itself, directly or through others. Iterative, because references can make a schema as deep as it is large. */
export function hasCycle(schema: JsonSchema): boolean {
  const above = new Set<unknown>();
  const cleared = new Set<unknown>();
  const open: { readonly part: unknown; readonly leaves: boolean }[] = [{ part: schema, leaves: false }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { part, leaves } = next;
    if (leaves) {
      above.delete(part);
      cleared.add(part);
      continue;
    }
    if (typeof part !== "object" || part === null || cleared.has(part)) continue;
    if (above.has(part)) return true;
    above.add(part);
    open.push({ part, leaves: true });
    for (const child of Object.values(part)) open.push({ part: child, leaves: false });
    if (isFields(part) && typeof part.$ref === "string")
      open.push({ part: resolveReference(schema, part.$ref), leaves: false });
  }
  return false;
}
