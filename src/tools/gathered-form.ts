import { lazySchema } from "./schema.ts";
import type { Tool } from "./tool.ts";
import { outputSchemaOf } from "./tool-schemas.ts";

const forms = new WeakMap<Tool, Tool>();

/** The tool as a caller sees it that reads no streams: the items are its result, in one array. Any other tool is as it is. */
export function gatheredForm(tool: Tool): Tool {
  const { stream, ...own } = tool;
  if (!stream) return tool;
  // Kept, because stubs are kept by tool.
  const known = forms.get(tool) ?? { ...own, output: lazySchema(() => outputSchemaOf(tool) ?? {}, { checks: false }) };
  forms.set(tool, known);
  return known;
}
