import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";

/** A tool of the catalogue: an operation of a public API. `fields` are the names and descriptions of its arguments. */
export interface CatalogueTool {
  readonly name: string;
  readonly description: string;
  /** By the method of the request. */
  readonly effect: "read" | "idempotent" | "write";
  readonly tags: readonly string[];
  readonly fields: readonly (readonly [name: string, description: string])[];
  /** Names of the fields of its result, or of each item. */
  readonly results: readonly string[];
}

/** The operations of eleven public APIs; `pack-catalogue.ts` makes the file. */
export function readCatalogue(): readonly CatalogueTool[] {
  const packed = readFileSync(join(import.meta.dirname, "catalogue.json.br"));
  return JSON.parse(brotliDecompressSync(packed).toString()) as readonly CatalogueTool[];
}
