import { isAnyObject, nearest } from "../../base/index.ts";
import { observedText, shownOutput } from "../observed/shown-output.ts";
import type { Tool } from "../tool.ts";
import { commentLine } from "./one-line.ts";

/** Parts of an output's schema that are read for its fields, and fields that are told. */
const PARTS_READ = 2000;
const FIELDS_TOLD = 8;
/** Characters of a name that is told. */
const NAME_LENGTH = 64;

/**
 * Advice about a field that no result of these tools has, or had by now. Undefined if a result may have the field, or if
 * nothing is known of fields.
 */
export function missingFieldAdvice(field: string, tools: readonly Tool[]): string | undefined {
  const candidates = tools
    .map((tool) => ({ tool, fields: outputFieldsOf(tool) }))
    .filter(({ fields: { all } }) => all.size > 0);
  if (candidates.some(({ fields: { all } }) => all.has(field))) return undefined;
  const [only] = candidates;
  const near = candidates.flatMap(({ tool, fields: { all } }) =>
    nearest(field, [...all], 1).map((meant) => ({ tool, meant })),
  );
  const [first] = near;
  if (first)
    return `${subjectOf(first.tool)} has no field ${shown(field)}${byNow(first.tool)}. Did you mean ${shown(first.meant)}?`;
  if (only === undefined || candidates.length > 1 || only.fields.top.length === 0) return undefined;
  const { top } = only.fields;
  const list = top.slice(0, FIELDS_TOLD).map(shown);
  const more = top.length > list.length ? ` and ${top.length - list.length} more` : "";
  return `${subjectOf(only.tool)} has no field ${shown(field)}${byNow(only.tool)}. It has ${list.join(", ")}${more}.`;
}

function shown(name: string): string {
  return JSON.stringify(commentLine(name, NAME_LENGTH));
}

function subjectOf({ name, stream }: Tool): string {
  return `${stream ? "An item" : "A result"} of tools.${name}`;
}

function byNow(tool: Tool): string {
  const text = observedText(tool);
  return text === "" ? "" : ` (${text})`;
}

/** The fields of a result itself (`top`), of a stream of an item, and those at any level. Reads as much as `PARTS_READ` allows. */
function outputFieldsOf(tool: Tool) {
  const all = new Set<string>();
  const schema = shownOutput(tool) ?? {};
  const open: unknown[] = [schema];
  let read = 0;
  for (let part = open.pop(); part !== undefined && read < PARTS_READ; part = open.pop(), read += 1) {
    if (!isAnyObject(part)) continue;
    for (const name of propertiesOf(part)) all.add(name);
    open.push(...Object.values(part).slice(0, PARTS_READ));
  }
  // A schema that was not read to its end may have the field.
  return read < PARTS_READ ? { top: propertiesOf(schema), all } : { top: [], all: new Set<string>() };
}

function propertiesOf(schema: object): readonly string[] {
  const { properties } = schema as { readonly properties?: unknown };
  return isAnyObject(properties) ? Object.keys(properties) : [];
}
