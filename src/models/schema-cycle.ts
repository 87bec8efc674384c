import { type JsonSchema, resolveReference } from "../tools/schema.ts";
import { isFields } from "./fields.ts";

/** Whether a schema refers to itself, directly or through others. */
export function hasCycle(schema: JsonSchema): boolean {
  return leadsBack(schema, schema, new Set(), new Set());
}

function leadsBack(root: JsonSchema, part: unknown, above: Set<unknown>, cleared: Set<unknown>): boolean {
  if (typeof part !== "object" || part === null || cleared.has(part)) return false;
  if (above.has(part)) return true;
  above.add(part);
  const reference = isFields(part) && typeof part.$ref === "string" ? [resolveReference(root, part.$ref)] : [];
  const found = [...Object.values(part), ...reference].some((child) => leadsBack(root, child, above, cleared));
  above.delete(part);
  cleared.add(part);
  return found;
}
