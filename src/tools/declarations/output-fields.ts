import { nearest } from "../../option-rules/nearest.ts";
import { jsonSchemaOf } from "../tool-schemas.ts";
import type { Tool } from "../tool.ts";

/** Parts of an output's schema that are read for its fields, and fields that are told. */
const PARTS_READ = 2000;
const FIELDS_TOLD = 8;

/**
 * Advice about a field that no result of these tools has. Undefined if a result may have the field, or if the schemas
 * say nothing of fields.
 */
export function missingFieldAdvice(field: string, tools: readonly Tool[]): string | undefined {
  const known = tools
    .map((tool) => ({ tool, fields: outputFieldsOf(tool) }))
    .filter(({ fields: { all } }) => all.size > 0);
  if (known.some(({ fields: { all } }) => all.has(field))) return undefined;
  const near = known.flatMap(({ tool, fields: { all } }) =>
    nearest(field, [...all], 1).map((meant) => ({ tool, meant })),
  );
  const [only] = known;
  const [first] = near;
  if (first)
    return `${subjectOf(first.tool)} has no field ${JSON.stringify(field)}. Did you mean ${JSON.stringify(first.meant)}?`;
  if (only === undefined || known.length > 1 || only.fields.top.length === 0) return undefined;
  const { top } = only.fields;
  const told = top.slice(0, FIELDS_TOLD).map((name) => JSON.stringify(name));
  const more = top.length > told.length ? ` and ${top.length - told.length} more` : "";
  return `${subjectOf(only.tool)} has no field ${JSON.stringify(field)}. It has ${told.join(", ")}${more}.`;
}

function subjectOf({ name, stream }: Tool): string {
  return `${stream ? "An item" : "A result"} of tools.${name}`;
}

/** The fields of a result itself (`top`), of a stream of an item, and those at any level. Reads as much as `PARTS_READ` allows. */
function outputFieldsOf(tool: Tool) {
  const all = new Set<string>();
  const schema = tool.output === undefined ? {} : jsonSchemaOf(tool.name, "output", tool.output);
  const open: unknown[] = [schema];
  let read = 0;
  for (let part = open.pop(); part !== undefined && read < PARTS_READ; part = open.pop(), read += 1) {
    if (typeof part !== "object" || part === null) continue;
    for (const name of propertiesOf(part)) all.add(name);
    open.push(...Object.values(part).slice(0, PARTS_READ));
  }
  // A schema that was not read to its end may have the field.
  return read < PARTS_READ ? { top: propertiesOf(schema), all } : { top: [], all: new Set<string>() };
}

function propertiesOf(schema: object): readonly string[] {
  const { properties } = schema as { readonly properties?: unknown };
  return typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
}
