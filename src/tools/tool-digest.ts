import { hash } from "node:crypto";
import { without } from "../base/index.ts";
import { type JsonSchema, mapSchema } from "./json-schema/json-schema.ts";
import { identityOf } from "./schema.ts";
import type { Tool } from "./tool.ts";
import { jsonSchemaOf } from "./tool-schemas.ts";

/** SHA-256 in hex of a definition of a tool as it was shown. */
export function shownDigest(definition: { readonly name: string }) {
  return { name: definition.name, digest: hash("sha256", JSON.stringify(definition)) };
}

const digests = new WeakMap<Tool, string>();

/** A default may be made anew each time that it is asked for, like the time of day: another process would have another tool. */
function withoutDefaults(schema: JsonSchema): unknown {
  return mapSchema(schema, (part) => without(part, "default"));
}

/** SHA-256 in hex of a tool's interface: its name, both JSON Schemas but for their defaults, and whether it streams, without policy and handler. */
export function toolDigest(tool: Tool): string {
  const hit = digests.get(tool);
  if (hit !== undefined) return hit;
  const { name, inputSchema: input, outputSchema: output, stream } = tool;
  const schemas = [
    identityOf(input) ?? withoutDefaults(jsonSchemaOf(name, "input", input)),
    output === undefined ? null : (identityOf(output) ?? withoutDefaults(jsonSchemaOf(name, "output", output))),
  ];
  const digest = hash("sha256", JSON.stringify([name, ...schemas, ...(stream ? ["stream"] : [])]));
  digests.set(tool, digest);
  return digest;
}
