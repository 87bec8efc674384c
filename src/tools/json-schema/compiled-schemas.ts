import { heldInCommon } from "../../base/index.ts";
import type { CompiledSchema } from "./compile-schema.ts";

/** The schemas that were used last, compiled, by keys that no other schema has. The process has one such store. */
const compiled = new Map<string, CompiledSchema>();

/** A schema that takes more than this part of the store is compiled each time: it would drive out what others use. */
const LARGEST = 1 / 4;

/** A schema, compiled: the one that is kept under this key, or else the one that `make` gives. */
export function compiledBy(key: string, make: () => CompiledSchema): CompiledSchema {
  const kept = compiled.get(key);
  const schema = kept ?? make();
  const isSmall = schema.bytes <= heldInCommon.allowed * LARGEST;
  if (kept) compiled.delete(key);
  else if (isSmall) heldInCommon.bytes += schema.bytes;
  if (kept || isSmall) compiled.set(key, schema);
  // A runtime that came since may allow less.
  for (const [oldest, { bytes }] of compiled) {
    if (heldInCommon.bytes <= heldInCommon.allowed) break;
    compiled.delete(oldest);
    heldInCommon.bytes -= bytes;
  }
  return schema;
}
