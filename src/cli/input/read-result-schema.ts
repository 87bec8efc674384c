import { readFileSync } from "node:fs";
import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import { jsonSchema, type Schema } from "../../tools/schema.ts";
import { EXIT } from "../exit-code.ts";
import { causeOf, Failure } from "../failure.ts";

/** Reads the JSON Schema of a file, as a schema of what a program returns. */
export function readResultSchema(flag: string, path: string): Schema {
  try {
    return jsonSchema(JSON.parse(readFileSync(path, "utf8")) as JsonSchema);
  } catch (error) {
    throw new Failure(EXIT.usage, `${flag} ${path}: ${causeOf(error)}. Give a file with a JSON Schema.`);
  }
}
